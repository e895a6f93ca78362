"""Which kinds of tables are written, which are refused by name, and that `docs/tables.md` says the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paimark.core.table import follow_ups as follow_ups
from paimark.core.table.definition import kinds
from paimark.core.table.definition.kinds import KINDS, TableKind
from paimark.core.table.records import SchemaField, TableSchema
from tests.wording import about

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"
MAP = {"type": "MAP", "key": "STRING", "value": "INT"}


def schema(
    options: Mapping[str, str] | None = None,
    *,
    keys: tuple[str, ...] = ("k",),
    partition_keys: tuple[str, ...] = (),
    **types: Any,
) -> TableSchema:
    columns: dict[str, Any] = {"k": "INT NOT NULL", "v": "INT", **types}
    fields = [
        SchemaField(id=place, name=name, type=kind) for place, (name, kind) in enumerate(columns.items())
    ]
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=list(partition_keys),
        primary_keys=list(keys),
        options={"bucket": "2", **(options or {})},
    )


def is_written(table: TableSchema) -> bool:
    return not kinds.refusals(table)


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, True),
        ({"merge-engine": "deduplicate", "sequence.field": "v", "write-only": "true"}, True),
        ({"merge-engine": "First-Row "}, True),
        ({"merge-engine": "first-row", "changelog-producer": "lookup"}, True),
        ({"deletion-vectors.enabled": "true"}, True),
        ({"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, True),
        ({"deletion-vectors.enabled": "false"}, True),
        ({"merge-engine": "partial-update"}, True),
        ({"merge-engine": "partial-update", "fields.v.sequence-group": "k"}, True),
        ({"merge-engine": "partial-update", "fields.v.aggregate-function": "sum"}, True),
        ({"merge-engine": "partial-update", "fields.default-aggregate-function": "sum"}, True),
        ({"merge-engine": "partial-update", "partial-update.ignore-delete": "true"}, True),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, True),
        ({"merge-engine": "partial-update", "ignore-delete": "false"}, True),
        ({"ignore-delete": "true", "rowkind.field": "v"}, True),
        ({"merge-engine": "aggregation"}, True),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, True),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}, True),
        ({"merge-engine": "aggregation", "fields.default-aggregate-function": "collect"}, True),
        ({"merge-engine": "aggregation", "fields.v.ignore-retract": "true"}, True),
        ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, True),
        ({"changelog-producer": "input"}, True),
        ({"changelog-producer": "lookup"}, True),
        ({"changelog-producer": "full-compaction"}, True),
        ({"bucket": "-1"}, True),
        ({"bucket": "-2"}, True),
        ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, True),
        ({"bucket-function.type": "default"}, True),
        ({"bucket-function.type": "mod"}, True),
        ({"sequence.snapshot-ordering": "true", "write-only": "true"}, False),
        ({"upsert-key": "v"}, True),
        ({"primary-key.nullable": "true"}, False),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "v"}, True),
        ({"scan.fallback-branch": "b"}, True),
        ({"scan.primary-branch": "b"}, True),
        ({"chain-table.enabled": "true"}, True),
        ({"row-tracking.enabled": "true"}, True),
        ({"data-evolution.enabled": "true"}, True),
        ({"pk-clustering-override": "true"}, True),
        ({"pk-btree.index.columns": "v"}, False),
        ({"fields.v.map.storage-layout": "shared-shredding"}, False),
        ({"target-file-row-num": "5"}, False),
        ({"file.format": "orc"}, True),
        ({"file.format": "CSV"}, True),
        ({"file.format": "lance"}, False),
        ({"manifest.format": "avro"}, True),
        ({"manifest.format": "ORC"}, False),
        ({"commit.callbacks": "x.Y"}, True),
        ({"metadata.iceberg.storage": "Hive-Catalog"}, False),
        ({"metadata.iceberg.storage": "hadoop-catalog"}, True),
        ({"commit.strict-mode.last-safe-snapshot": "4"}, True),
        ({"query-auth.enabled": "true"}, False),
        ({"type": "table"}, True),
        ({"type": "format-table"}, False),
        ({"owner": "me", "file-index.bloom-filter.columns": "v"}, True),
    ],
)
def test_options_tell_whether_a_table_is_written(options: Mapping[str, str], written: bool) -> None:
    assert is_written(schema(options)) is written


def test_tables_without_a_key_have_no_use_for_the_options_of_those_with_one() -> None:
    assert not is_written(schema({"sequence.snapshot-ordering": "true"}))
    assert is_written(schema({"sequence.snapshot-ordering": "true"}, keys=()))


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("TIMESTAMP(6)", True),
        ("TIMESTAMP(9)", False),
        ("TIMESTAMP(7) WITH LOCAL TIME ZONE", False),
        ("TIMESTAMP_LTZ(9)", False),
        ("VARIANT", True),
        ("BLOB", True),
        ({"type": "ARRAY", "element": "TIMESTAMP(9)"}, False),
        ({"type": "MULTISET", "element": "INT"}, True),
        ({"type": "VECTOR", "element": "FLOAT", "length": 3}, False),
        (MAP, True),
    ],
)
def test_columns_that_spark_can_not_keep(kind: object, written: bool) -> None:
    assert is_written(schema(x=kind)) is written


def test_vectors_and_large_values() -> None:
    vector: Any = {"type": "VECTOR", "element": "FLOAT", "length": 3}
    assert is_written(schema({"file.format": "Avro"}, x=vector)) and not is_written(schema(x=vector))
    assert is_written(schema({"blob-as-descriptor": "false"}, x="BLOB"))
    for elsewhere in ({"blob-as-descriptor": "true"}, {"blob-descriptor-field": "x"}):
        assert not is_written(schema(elsewhere, x="BLOB"))


def row(**types: object) -> dict[str, object]:
    fields = [
        {"id": place, "name": name, "type": kind} for place, (name, kind) in enumerate(types.items(), 9)
    ]
    return {"type": "ROW", "fields": fields}


@pytest.mark.parametrize(
    "types",
    [
        {"a": row(x="INT"), "a.x": "INT"},
        {"a": row(b=row(c="INT")), "a.b": row(c="STRING")},
        {"a": MAP, "a.key_value": row(value="INT")},
        {"a": {"type": "ARRAY", "element": "INT"}, "a.list.element": "INT"},
    ],
)
def test_columns_that_parquet_files_do_not_tell_apart(types: Mapping[str, Any]) -> None:
    assert kinds.refusals(schema(**types)) and kinds.compaction_refusals(schema(**types))
    assert not kinds.refusals(schema({"file.format": "ORC"}, **types))
    assert not kinds.refusals(schema(**{name.replace("a.", "b."): kind for name, kind in types.items()}))


def test_names_that_orc_files_lose() -> None:
    for types in ({"a`b": "INT"}, {"a": row(**{"b`": "INT"})}):
        assert kinds.refusals(schema({"file.format": "orc"}, **types))
        assert not kinds.refusals(schema(**types))


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE NOT NULL", "BYTES", "VARBINARY(3)"])
def test_columns_that_can_not_be_partitions(kind: str) -> None:
    assert is_written(schema(x=kind))
    assert not is_written(schema(x=kind, keys=(), partition_keys=("x",)))


@pytest.mark.parametrize("kind", ["TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(6) NOT NULL"])
def test_partitions_by_moments_lie_where_their_writer_is(kind: str) -> None:
    def partitioned(**options: str) -> TableSchema:
        return schema(options, x=kind, keys=(), partition_keys=("x",))

    assert is_written(partitioned()) and is_written(partitioned(**{"partition.legacy-name": "TRUE"}))
    assert not is_written(partitioned(**{"partition.legacy-name": "false"}))
    assert is_written(schema({"partition.legacy-name": "false"}, x=kind))
    without_zone = schema({"partition.legacy-name": "false"}, x="TIMESTAMP(3)", partition_keys=("x",))
    assert is_written(without_zone)


def test_the_sentence_names_the_option_and_the_hint_says_who_writes() -> None:
    first = schema({"merge-engine": "first-row"})
    assert kinds.refusals(first) == kinds.compaction_refusals(first) == []
    [refusal] = kinds.merging_refusals(first)
    assert about("replace", "branch").search(refusal.hint)
    ordered = schema({"sequence.snapshot-ordering": "true"})
    assert [each.hint for each in kinds.compaction_refusals(ordered)] == [kinds.HINT]
    upserted = schema({"upsert-key": "v"}, keys=())
    [adding] = kinds.adding_refusals(upserted)
    assert about("INSERT INTO", "upsert", "MERGE INTO", "upsert-key").search(adding.reason)
    assert kinds.merging_refusals(upserted) and not kinds.adding_refusals(first)
    assert about("compacted", "merge-engine = first-row").search(refusal.reason)


def test_the_documentation_shows_every_kind_as_the_code_has_it() -> None:
    text = DOCS.read_text()
    missing = [row for kind in KINDS if (row := documented(kind)) not in text]
    assert not missing, "docs/tables.md lacks:\n" + "\n".join(missing)
    table = text.partition("| kind of table | known by |")[2].partition("\n\n")[0]
    rows = ["", *(line for line in table.splitlines() if line.startswith("| "))]
    assert len(rows) == len(KINDS) + 1


def documented(kind: TableKind) -> str:
    works = "works" if kind.is_written else "refused"
    return f"| {kind.name} | {kind.known_by} | {works} | {kind.note} |"


def test_no_option_of_paimon_was_overlooked() -> None:
    """Every option that pypaimon knows is one of a kind, or listed as of no concern to whoever writes."""
    from pypaimon.common.options.core_options import CoreOptions

    known = {each.key() for each in vars(CoreOptions).values() if hasattr(each, "has_default_value")}
    assert len(known) > 100
    assert not unclassified(known)


def unclassified(options: set[str]) -> set[str]:
    """Those that no kind and no follow-up is known by, and that `harmless_options.txt` does not have."""
    harmless = (Path(__file__).parent / "harmless_options.txt").read_text().split()
    quoted = [name for kind in KINDS for name in re.findall(r"`([^`]+)`", kind.known_by + kind.note)]
    pattern = re.compile("|".join(re.escape(name).replace(r"\*", ".+") for name in quoted))
    others = {name for name in options if not pattern.fullmatch(name) and not follow_ups.is_known(name)}
    return others - set(harmless)


def test_kinds_can_be_told_apart() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert kinds.HINT
