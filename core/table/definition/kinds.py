"""The kinds of tables, and how Paimark writes to each. It refuses those that it can't write correctly.

All writers of rows (INSERT, streams, rollback, merge, overwrite, undo) check this list for their plan, and
again when they write the files. `docs/tables.md` shows the same table to people.

Paimon's own library writes the rows of statements and actions, without compaction. For some kinds, readers
skip such files, so nobody would see the new rows. In the data source pypaimon writes, which does not make the
files of some more kinds as Paimon does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from paimark.core.table.definition import kind_signs as signs
from paimark.core.table.definition.kind_signs import Sign
from paimark.core.table.records import TableSchema

# Who writes to a kind of tables: the library and the data source, the library only, or nobody.
Writers = Literal["all", "library", "nobody"]
HINT = "Write it with the engine that made it."
SOURCE_HINT = "INSERT writes to it, by Paimon's own library."
COMPACT_FIRST = "Compact it first: `paimark compact`."
# The bucket of rows that wait for one.
POSTPONED = -2
# Functions of aggregation: each gives the same result here as in stock Paimon.
FUNCTIONS = (
    "bool_and",
    "bool_or",
    "first_non_null_value",
    "first_value",
    "last_non_null_value",
    "last_value",
    "max",
    "min",
    "product",
    "sum",
)


def unseen_rows(name: str) -> tuple[str, str]:
    """Why rows of a table are not written again while nobody sees others of it, and what to do."""
    reason = f"{name} has rows that nobody sees before they are compacted, and which would be lost"
    return reason, COMPACT_FIRST


@dataclass(frozen=True)
class TableKind:
    """`known_by` tells people how to recognize such a table; `sign` detects it.

    `note` follows the table's name in messages: why writes are refused, or a property of a kind that works.
    """

    name: str
    known_by: str
    sign: Sign
    note: str
    writers: Writers = "all"
    compacts: bool = True


class WriteRefusal(NamedTuple):
    """`reason` is to follow the table's name."""

    reason: str
    hint: str


def refusals(schema: TableSchema, *, by_source: bool = False) -> list[WriteRefusal]:
    """Why nobody can write rows to the table, or not the data source; empty if that works."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", HINT if kind.writers == "nobody" else SOURCE_HINT)
        for kind in KINDS
        if kind.writers == "nobody" or (by_source and kind.writers == "library")
        if (reason := kind.sign(schema))
    ]


def merging_refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Beyond `refusals`: why rows can't be merged with those that are there."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", "Replace main by the branch instead.")
        for kind in KINDS
        if kind.note.endswith(_UNSEEN) and (reason := kind.sign(schema))
    ]


def compaction_refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Why Paimon's library can't compact the table; empty if it can."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", HINT)
        for kind in KINDS
        if not kind.compacts and (reason := kind.sign(schema))
    ]


_UNSEEN = "rows that are not compacted are seen by nobody there"


def _by_library(name: str, known_by: str, sign: Sign, note: str) -> TableKind:
    return TableKind(name, known_by, sign, note, "library")


def _refused(name: str, known_by: str, sign: Sign, note: str, *, compacts: bool = False) -> TableKind:
    return TableKind(name, known_by, sign, note, "nobody", compacts)


KINDS: tuple[TableKind, ...] = (
    TableKind("append tables", "no primary key", signs.unkeyed, "may hold a row twice"),
    TableKind(
        "the newest row of a key",
        "`merge-engine` = `deduplicate`, which it is by itself",
        signs.keyed(signs.deduplicates),
        "keeps the newest row of a key, by `sequence.field` where that is set",
    ),
    TableKind(
        "row kinds in a column",
        "`rowkind.field`",
        signs.keyed(signs.is_set(r"rowkind\.field")),
        "takes `-D` in that column as a delete, unless it has `ignore-delete`",
    ),
    TableKind(
        "partial update",
        "`merge-engine` = `partial-update`",
        signs.keyed(signs.has("merge-engine", "partial-update")),
        "keeps the last value of each column that is not null; no merge-branch",
    ),
    _by_library(
        "partial update by more rules",
        "`fields.*.sequence-group`, `fields.*.aggregate-function`, `ignore-delete`, "
        "`partial-update.remove-record-on-*`",
        signs.keyed(signs.partially_updates_by_rules),
        "merges rows of a key by rules that Python does not know",
    ),
    TableKind(
        "aggregation",
        "`merge-engine` = `aggregation`",
        signs.keyed(signs.has("merge-engine", "aggregation")),
        "aggregates rows of a key; rows that are written again replace what they were made of",
    ),
    _by_library(
        "aggregation by other functions",
        "`fields.*.aggregate-function`, `fields.default-aggregate-function` other than "
        f"{', '.join(FUNCTIONS)}; "
        "`aggregation.remove-record-on-delete`, `fields.*.ignore-retract`",
        signs.keyed(signs.aggregates_otherwise(FUNCTIONS)),
        "aggregates rows of a key by rules that Python does not know",
    ),
    _by_library(
        "the first row of a key",
        "`merge-engine` = `first-row`",
        signs.keyed(signs.has("merge-engine", "first-row")),
        f"keeps the first row of a key, and {_UNSEEN}",
    ),
    _by_library(
        "deletion vectors without keys",
        "`deletion-vectors.enabled`, no primary key",
        signs.without_key(signs.is_true("deletion-vectors.enabled")),
        "uses deletion vectors, which pypaimon does not carry on",
    ),
    _by_library(
        "deletion vectors of keys",
        "`deletion-vectors.enabled` and a primary key",
        signs.keyed(signs.is_true("deletion-vectors.enabled")),
        f"uses deletion vectors, and {_UNSEEN}",
    ),
    TableKind(
        "changelog from the writer",
        "`changelog-producer` = `input`",
        signs.keyed(signs.has("changelog-producer", "input")),
        "gets its changelog with each INSERT INTO",
    ),
    TableKind(
        "changelog from compaction",
        "`changelog-producer` = `lookup`, `full-compaction`; `force-lookup`",
        signs.keyed(
            signs.either(
                signs.has("changelog-producer", "lookup", "full-compaction"), signs.is_true("force-lookup")
            )
        ),
        "gets the changelog of new rows when they are compacted; batch reads have them at once",
    ),
    TableKind(
        "buckets made as it grows",
        "a primary key and `bucket` = -1",
        signs.keyed(signs.grows_buckets),
        "is written by one at a time: of two at once, one is refused",
    ),
    _by_library(
        "keys across partitions",
        "`bucket` = -1 and a partition column outside the primary key",
        signs.crosses_partitions,
        "looks for keys across partitions, by an index that Python does not have",
    ),
    _by_library(
        "postponed buckets",
        "a primary key and `bucket` = -2",
        signs.keyed(signs.postpones_buckets),
        "postpones its buckets, and rows in none of them are seen by nobody there",
    ),
    _by_library(
        "postponed buckets, for each write",
        "`bucket` = -2 and `postpone.batch-write-fixed-bucket` = `false`",
        signs.keyed(
            signs.both(signs.postpones_buckets, signs.has("postpone.batch-write-fixed-bucket", "false"))
        ),
        f"postpones its buckets, and {_UNSEEN}",
    ),
    _by_library(
        "buckets by another function",
        "`bucket-function.type` = `mod`, `hive`",
        signs.has_other("bucket-function.type", "default"),
        "has its rows in buckets by a function that Python does not know",
    ),
    _refused(
        "upserts without a primary key",
        "`upsert-key`",
        signs.is_set(r"upsert-key"),
        "takes each INSERT as an upsert by columns that are no primary key, which this version does not",
    ),
    _refused(
        "rows of a key in the order of snapshots",
        "`sequence.snapshot-ordering`",
        signs.keyed(signs.is_true("sequence.snapshot-ordering")),
        "orders rows of a key by snapshots, which files written here do not tell",
    ),
    _refused(
        "keys that may be null",
        "`primary-key.nullable`",
        signs.is_true("primary-key.nullable"),
        "may have keys that are null, which this version does not write",
    ),
    TableKind(
        "rows that expire",
        "`record-level.expire-time`",
        signs.keyed(signs.is_set(r"record-level\.expire-time")),
        "drops rows that have expired when it is compacted",
    ),
    TableKind(
        "reading from a second branch",
        "`scan.fallback-branch`, `scan.primary-branch`",
        signs.is_set(r"scan\.fallback-branch", r"scan\.primary-branch"),
        "gets and loses rows of its own only; what another branch has stays that branch's",
    ),
    _refused(
        "chain tables",
        "`chain-table.enabled`",
        signs.is_true("chain-table.enabled"),
        "is a chain of branches, with rules for writers that this version does not know",
    ),
    _by_library(
        "row tracking",
        "`row-tracking.enabled`",
        signs.is_true("row-tracking.enabled"),
        "gives its rows ids; those that are written again get new ones",
    ),
    _by_library(
        "data evolution",
        "`data-evolution.enabled`",
        signs.is_true("data-evolution.enabled"),
        "keeps columns of a row in several files; rows that are written again get new ids",
    ),
    _refused(
        "files in another order, indexes by key",
        "`pk-clustering-override`, `pk-*.index.columns`",
        signs.either(signs.is_true("pk-clustering-override"), signs.is_set(r"pk-.+\.index\.columns")),
        "has files with an order or an index that this version does not write",
    ),
    _refused(
        "maps in another layout",
        "`fields.*.map.storage-layout`",
        signs.is_set(r"fields\..+\.map\.storage-layout"),
        "keeps maps in a layout that this version does not write",
    ),
    _refused(
        "files of a number of rows",
        "`target-file-row-num`",
        signs.is_set(r"target-file-row-num"),
        "has files of a number of rows, which this version does not count",
    ),
    _by_library(
        "text files",
        "`file.format` = `csv`, `json`",
        signs.has("file.format", "csv", "json"),
        "has files of a format that Python does not write",
    ),
    _refused(
        "other file formats",
        "`file.format` other than `parquet`, `orc`, `avro`, `csv`, `json`",
        signs.has_other("file.format", "parquet", "orc", "avro", "csv", "json"),
        "has files of a format that this version does not write",
        compacts=True,
    ),
    _by_library(
        "maps in Avro files",
        "`file.format` = `avro` and a column that holds a `MAP`",
        signs.maps_in_avro,
        "holds maps, which Python does not write to Avro files",
    ),
    _refused(
        "columns of one name in Parquet files",
        "`file.format` = `parquet`, and a column `v.x` beside a `ROW` `v` with a field `x`",
        signs.one_path_in_parquet,
        "has columns that Paimon's Parquet files do not tell apart",
    ),
    _refused(
        "backticks in ORC files",
        "`file.format` = `orc`, and a backtick in a column's name",
        signs.backtick_in_orc,
        "has columns that Paimon does not find again in ORC files",
    ),
    _refused(
        "other formats of manifests",
        "`manifest.format` other than `avro`",
        signs.has_other("manifest.format", "avro"),
        "has manifests of a format that this version does not write",
        compacts=True,
    ),
    _by_library(
        "commits that others hear of",
        "`commit.callbacks`",
        signs.is_set(r"commit\.callbacks"),
        "asks for calls at each commit that pypaimon does not make",
    ),
    _refused(
        "commits that others check",
        "`commit.strict-mode.last-safe-snapshot`, `query-auth.enabled`",
        signs.either(
            signs.is_set(r"commit\.strict-mode\.last-safe-snapshot"),
            signs.is_true("query-auth.enabled"),
        ),
        "asks for checks at each commit that this version does not make",
    ),
    _refused(
        "other things than tables",
        "`type` other than `table`, `materialized-table`",
        signs.has_other("type", "table", "materialized-table"),
        "is of a type that this version does not write",
    ),
    _refused(
        "columns that Spark can't keep",
        "`TIMESTAMP(7)` and finer, `VARIANT`, `BLOB`, `VECTOR`, `MULTISET`, `GEOMETRY`, `GEOGRAPHY`",
        signs.lossy_column,
        "has values that Spark can't keep as they are",
        compacts=True,
    ),
    _refused(
        "partitions by floating point, bytes or moments",
        "a partition column that is `FLOAT`, `DOUBLE`, `BINARY`, `VARBINARY`, `BYTES`; or `TIMESTAMP_LTZ` "
        "with `partition.legacy-name` = `false`",
        signs.partition_without_path,
        "has partitions that stock engines would look for in another directory",
        compacts=True,
    ),
)
