"""The kinds of tables, and how Paimark writes to each. It refuses those that it can't write correctly.

All writers of rows (INSERT, streams, rollback, merge, overwrite, undo) check this list for their plan, and
again when they write the files. `docs/tables.md` shows the same table to people.

Paimon's own library writes the rows, without compaction. For some kinds, readers skip such files, so nobody
would see the new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from paimark.core.table.definition import kind_signs as signs
from paimark.core.table.definition.kind_signs import Sign
from paimark.core.table.records import TableSchema

HINT = "Write it with the engine that made it."
COMPACT_FIRST = "Compact it first: `paimark compact`."
# The bucket of rows that wait for one.
POSTPONED = -2


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
    is_written: bool = True
    compacts: bool = True
    # Whether rows are just added to those that are there.
    is_added_to: bool = True


class WriteRefusal(NamedTuple):
    """`reason` is to follow the table's name."""

    reason: str
    hint: str


def refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Why nobody can write rows to the table; empty if that works."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", HINT)
        for kind in KINDS
        if not kind.is_written and (reason := kind.sign(schema))
    ]


def adding_refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Beyond `refusals`: why no rows can be added, where they can be replaced and changed."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", "Compare them in the condition of a MERGE INTO.")
        for kind in KINDS
        if not kind.is_added_to and (reason := kind.sign(schema))
    ]


def merging_refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Beyond `refusals`: why rows can't be merged with those that are there."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", "Replace main by the branch instead.")
        for kind in KINDS
        if (kind.note.endswith(_UNSEEN) or not kind.is_added_to) and (reason := kind.sign(schema))
    ]


def compaction_refusals(schema: TableSchema) -> list[WriteRefusal]:
    """Why Paimon's library can't compact the table; empty if it can."""
    return [
        WriteRefusal(f"{kind.note} ({reason})", HINT)
        for kind in KINDS
        if not kind.compacts and (reason := kind.sign(schema))
    ]


_UNSEEN = "rows that are not compacted are seen by nobody there"


def _refused(name: str, known_by: str, sign: Sign, note: str, *, compacts: bool = False) -> TableKind:
    return TableKind(name, known_by, sign, note, False, compacts)


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
        "`merge-engine` = `partial-update`, whatever its rules are",
        signs.keyed(signs.has("merge-engine", "partial-update")),
        "keeps the last value of each column that is not null; no merge-branch",
    ),
    TableKind(
        "aggregation",
        "`merge-engine` = `aggregation`, by any function",
        signs.keyed(signs.has("merge-engine", "aggregation")),
        "aggregates rows of a key; rows that are written again replace what they were made of",
    ),
    TableKind(
        "the first row of a key",
        "`merge-engine` = `first-row`",
        signs.keyed(signs.has("merge-engine", "first-row")),
        f"keeps the first row of a key, and {_UNSEEN}",
    ),
    TableKind(
        "deletion vectors without keys",
        "`deletion-vectors.enabled`, no primary key",
        signs.without_key(signs.is_true("deletion-vectors.enabled")),
        "keeps the vectors that mark its deleted rows",
    ),
    TableKind(
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
    TableKind(
        "keys across partitions",
        "`bucket` = -1 and a partition column outside the primary key",
        signs.crosses_partitions,
        "finds the row of a key in whichever partition it is, by an index that each write makes",
    ),
    TableKind(
        "postponed buckets",
        "a primary key and `bucket` = -2",
        signs.keyed(signs.postpones_buckets),
        "postpones its buckets, and rows in none of them are seen by nobody there",
    ),
    TableKind(
        "postponed buckets, for each write",
        "`bucket` = -2 and `postpone.batch-write-fixed-bucket` = `false`",
        signs.keyed(
            signs.both(signs.postpones_buckets, signs.has("postpone.batch-write-fixed-bucket", "false"))
        ),
        f"postpones its buckets, and {_UNSEEN}",
    ),
    TableKind(
        "upserts without a primary key",
        "`upsert-key`",
        signs.without_key(signs.is_set(r"upsert-key")),
        "takes an INSERT INTO as an upsert, which is refused here: MERGE INTO says by which columns",
        is_added_to=False,
    ),
    _refused(
        "rows of a key in the order of snapshots",
        "`sequence.snapshot-ordering`",
        signs.keyed(signs.is_true("sequence.snapshot-ordering")),
        "orders rows of a key by snapshots, which Paimon 1.4 does not know",
    ),
    _refused(
        "keys that may be null",
        "`primary-key.nullable`",
        signs.is_true("primary-key.nullable"),
        "may have keys that are null, which Paimon 1.4 does not know",
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
    TableKind(
        "chain tables",
        "`chain-table.enabled`",
        signs.is_true("chain-table.enabled"),
        "gets rows in the branch that is named; rows of main hide the chain's in their partition",
    ),
    TableKind(
        "row tracking",
        "`row-tracking.enabled`",
        signs.is_true("row-tracking.enabled"),
        "gives its rows ids; those that are written again get new ones",
    ),
    TableKind(
        "data evolution",
        "`data-evolution.enabled`",
        signs.is_true("data-evolution.enabled"),
        "keeps columns of a row in several files; rows that are written again get new ids",
    ),
    TableKind(
        "keyed files in another order",
        "`pk-clustering-override`",
        signs.keyed(signs.is_true("pk-clustering-override")),
        f"keeps keyed rows in the order of other columns, and {_UNSEEN}",
    ),
    _refused(
        "indexes by key",
        "`pk-*.index.columns`",
        signs.is_set(r"pk-.+\.index\.columns"),
        "has indexes that Paimon 1.4 does not know",
    ),
    _refused(
        "maps in another layout",
        "`fields.*.map.storage-layout`",
        signs.is_set(r"fields\..+\.map\.storage-layout"),
        "keeps maps in a layout that Paimon 1.4 does not know",
    ),
    _refused(
        "other rules of merging",
        "`fields.*` with a word of a later Paimon, as `nested-sequence-field`",
        signs.keyed(signs.other_rule),
        "merges rows by a rule that Paimon 1.4 does not know",
    ),
    _refused(
        "files of a number of rows",
        "`target-file-row-num`",
        signs.is_set(r"target-file-row-num"),
        "has files of a number of rows, which Paimon 1.4 does not count",
    ),
    _refused(
        "other file formats",
        "`file.format`, `file.format.per.level`, `vector.file.format` or `changelog-file.format` other than "
        "`parquet`, `orc`, `avro`, `csv`, `json`",
        signs.other_format("parquet", "orc", "avro", "csv", "json"),
        "has files of a format that Paimon 1.4 does not write",
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
        "has manifests that only Paimon reads: Paimark reads those in Avro",
        compacts=True,
    ),
    _refused(
        "Iceberg metadata in Hive",
        "`metadata.iceberg.storage` = `hive-catalog`",
        signs.has("metadata.iceberg.storage", "hive-catalog"),
        "tells a Hive metastore of each commit, which only a catalog of Hive reaches",
    ),
    TableKind(
        "commits that check those of others",
        "`commit.strict-mode.last-safe-snapshot`",
        signs.is_set(r"commit\.strict-mode\.last-safe-snapshot"),
        "refuses a commit where others have compacted or overwritten since that snapshot",
    ),
    _refused(
        "rows that a catalog guards",
        "`query-auth.enabled`",
        signs.is_true("query-auth.enabled"),
        "asks a REST catalog who may see which rows, and no other catalog answers that",
    ),
    _refused(
        "other things than tables",
        "`type` other than `table`, `materialized-table`",
        signs.has_other("type", "table", "materialized-table"),
        "is no table of Paimon's own files",
    ),
    _refused(
        "columns of other types",
        "`GEOMETRY`, `GEOGRAPHY`, or a type that nobody here knows",
        signs.unknown_column,
        "has values of a type that Paimon 1.4 does not know",
    ),
    _refused(
        "columns that Spark can't keep",
        "`TIMESTAMP(7)` and finer",
        signs.lossy_column,
        "has values that Spark can't keep as they are",
        compacts=True,
    ),
    _refused(
        "vectors in files that lack them",
        "a `VECTOR`, and `file.format` other than `avro`, `json`",
        signs.vector_without_files,
        "has vectors, which Paimon 1.4 writes to Avro and JSON files only",
    ),
    _refused(
        "large values that lie elsewhere",
        "`blob-as-descriptor`, `blob-descriptor-field`, `blob-external-storage-field`, `blob-view-field`",
        signs.either(
            signs.is_true("blob-as-descriptor"),
            signs.is_set("blob-descriptor-field", "blob-external-storage-field", "blob-view-field"),
        ),
        "names where large values lie, and rows that are written again would have the values themselves",
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
