"""Which kinds of tables are written, which are refused by name, and that `docs/tables.md` says the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paimark.core.table.definition import kinds
from paimark.core.table.definition.kinds import KINDS, TableKind, Writers
from paimark.core.table.follow_ups import options as follow_ups
from paimark.core.table.records import SchemaField, TableSchema

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


def writers(table: TableSchema) -> Writers:
    if kinds.refusals(table):
        return "nobody"
    return "library" if kinds.refusals(table, by_source=True) else "all"


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({}, "all"),
        ({"merge-engine": "deduplicate", "sequence.field": "v", "write-only": "true"}, "all"),
        ({"merge-engine": "First-Row "}, "library"),
        ({"merge-engine": "first-row", "changelog-producer": "lookup"}, "library"),
        ({"deletion-vectors.enabled": "true"}, "library"),
        ({"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, "library"),
        ({"deletion-vectors.enabled": "false"}, "all"),
        ({"merge-engine": "partial-update"}, "all"),
        ({"merge-engine": "partial-update", "fields.v.sequence-group": "k"}, "library"),
        ({"merge-engine": "partial-update", "fields.v.aggregate-function": "sum"}, "library"),
        ({"merge-engine": "partial-update", "fields.default-aggregate-function": "sum"}, "library"),
        ({"merge-engine": "partial-update", "partial-update.ignore-delete": "true"}, "library"),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, "library"),
        ({"merge-engine": "partial-update", "ignore-delete": "false"}, "all"),
        ({"ignore-delete": "true", "rowkind.field": "v"}, "all"),
        ({"merge-engine": "aggregation"}, "all"),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, "all"),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}, "library"),
        ({"merge-engine": "aggregation", "fields.default-aggregate-function": "collect"}, "library"),
        ({"merge-engine": "aggregation", "fields.v.ignore-retract": "true"}, "library"),
        ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, "library"),
        ({"changelog-producer": "input"}, "all"),
        ({"changelog-producer": "lookup"}, "all"),
        ({"changelog-producer": "full-compaction"}, "all"),
        ({"bucket": "-1"}, "all"),
        ({"bucket": "-2"}, "library"),
        ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, "library"),
        ({"bucket-function.type": "default"}, "all"),
        ({"bucket-function.type": "mod"}, "library"),
        ({"sequence.snapshot-ordering": "true", "write-only": "true"}, "nobody"),
        ({"upsert-key": "v"}, "nobody"),
        ({"primary-key.nullable": "true"}, "nobody"),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "v"}, "all"),
        ({"scan.fallback-branch": "b"}, "all"),
        ({"scan.primary-branch": "b"}, "all"),
        ({"chain-table.enabled": "true"}, "nobody"),
        ({"row-tracking.enabled": "true"}, "library"),
        ({"data-evolution.enabled": "true"}, "library"),
        ({"pk-clustering-override": "true"}, "nobody"),
        ({"pk-btree.index.columns": "v"}, "nobody"),
        ({"fields.v.map.storage-layout": "shared-shredding"}, "nobody"),
        ({"target-file-row-num": "5"}, "nobody"),
        ({"file.format": "orc"}, "all"),
        ({"file.format": "CSV"}, "library"),
        ({"file.format": "lance"}, "nobody"),
        ({"manifest.format": "avro"}, "all"),
        ({"manifest.format": "ORC"}, "nobody"),
        ({"commit.callbacks": "x.Y"}, "library"),
        ({"commit.strict-mode.last-safe-snapshot": "4"}, "nobody"),
        ({"query-auth.enabled": "true"}, "nobody"),
        ({"type": "table"}, "all"),
        ({"type": "format-table"}, "nobody"),
        ({"owner": "me", "file-index.bloom-filter.columns": "v"}, "all"),
    ],
)
def test_options_tell_who_writes_to_a_table(options: Mapping[str, str], who: Writers) -> None:
    assert writers(schema(options)) == who


def test_tables_without_a_key_have_no_use_for_the_options_of_those_with_one() -> None:
    for name, value in {"merge-engine": "first-row", "bucket": "-2", "changelog-producer": "input"}.items():
        assert writers(schema({name: value}, keys=())) == "all"
    assert writers(schema({"deletion-vectors.enabled": "true"}, keys=())) == "library"


def test_keys_are_looked_for_in_all_partitions_where_a_partition_column_is_no_key() -> None:
    across = schema({"bucket": "-1"}, partition_keys=("v",))
    assert [each.reason for each in kinds.refusals(across, by_source=True)] == [
        "looks for keys across partitions, by an index that Python does not have "
        "(bucket = -1, and v is not in the primary key)"
    ]
    assert kinds.refusals(across) == []
    assert writers(schema({"bucket": "-1"}, keys=("k", "v"), partition_keys=("v",))) == "all"


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("TIMESTAMP(6)", "all"),
        ("TIMESTAMP(9)", "nobody"),
        ("TIMESTAMP(7) WITH LOCAL TIME ZONE", "nobody"),
        ("TIMESTAMP_LTZ(9)", "nobody"),
        ("VARIANT", "nobody"),
        ("BLOB", "nobody"),
        ({"type": "ARRAY", "element": "TIMESTAMP(9)"}, "nobody"),
        ({"type": "MULTISET", "element": "INT"}, "nobody"),
        ({"type": "VECTOR", "element": "FLOAT", "length": 3}, "nobody"),
        (MAP, "all"),
    ],
)
def test_columns_that_spark_can_not_keep(kind: object, who: Writers) -> None:
    assert writers(schema(x=kind)) == who


@pytest.mark.parametrize("kind", [MAP, {"type": "ARRAY", "element": MAP}])
def test_maps_are_not_written_to_avro_files(kind: object) -> None:
    assert writers(schema({"file.format": "AVRO"}, x=kind)) == "library"
    assert writers(schema({"file.format": "AVRO"}, x={"type": "ARRAY", "element": "INT"})) == "all"
    assert writers(schema({"file.format": "orc"}, x=kind)) == "all"


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
    assert writers(schema(**types)) == "nobody" and kinds.compaction_refusals(schema(**types))
    assert writers(schema({"file.format": "ORC"}, **types)) == "all"
    assert writers(schema(**{name.replace("a.", "b."): kind for name, kind in types.items()})) == "all"


def test_names_that_orc_files_lose() -> None:
    for types in ({"a`b": "INT"}, {"a": row(**{"b`": "INT"})}):
        assert writers(schema({"file.format": "orc"}, **types)) == "nobody"
        assert writers(schema(**types)) == "all"


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE NOT NULL", "BYTES", "VARBINARY(3)"])
def test_columns_that_can_not_be_partitions(kind: str) -> None:
    assert writers(schema(x=kind)) == "all"
    assert writers(schema(x=kind, keys=(), partition_keys=("x",))) == "nobody"


@pytest.mark.parametrize("kind", ["TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(6) NOT NULL"])
def test_partitions_by_moments_lie_where_their_writer_is(kind: str) -> None:
    def partitioned(**options: str) -> TableSchema:
        return schema(options, x=kind, keys=(), partition_keys=("x",))

    assert writers(partitioned()) == writers(partitioned(**{"partition.legacy-name": "TRUE"})) == "all"
    assert writers(partitioned(**{"partition.legacy-name": "false"})) == "nobody"
    assert writers(schema({"partition.legacy-name": "false"}, x=kind)) == "all"
    without_zone = schema({"partition.legacy-name": "false"}, x="TIMESTAMP(3)", partition_keys=("x",))
    assert writers(without_zone) == "all"


def test_the_sentence_names_the_option_and_the_hint_says_who_writes() -> None:
    grouped = schema({"merge-engine": "partial-update", "fields.v.sequence-group": "k"})
    assert [each.hint for each in kinds.refusals(grouped, by_source=True)] == [kinds.SOURCE_HINT]
    first = schema({"merge-engine": "first-row"})
    assert kinds.refusals(first) == kinds.compaction_refusals(first) == []
    [refusal] = kinds.merging_refusals(first)
    assert refusal.hint == "Replace main by the branch instead."
    upserted = schema({"upsert-key": "v"})
    assert [each.hint for each in kinds.compaction_refusals(upserted)] == [kinds.HINT]
    assert refusal.reason.endswith("seen by nobody there (merge-engine = first-row)")


def test_the_documentation_shows_every_kind_as_the_code_has_it() -> None:
    text = DOCS.read_text()
    missing = [row for kind in KINDS if (row := documented(kind)) not in text]
    assert not missing, "docs/tables.md lacks:\n" + "\n".join(missing)
    table = text.partition("| kind of table | known by |")[2].partition("\n\n")[0]
    rows = ["", *(line for line in table.splitlines() if line.startswith("| "))]
    assert len(rows) == len(KINDS) + 1


def documented(kind: TableKind) -> str:
    works = {"all": "works | works", "library": "works | refused", "nobody": "refused | refused"}
    return f"| {kind.name} | {kind.known_by} | {works[kind.writers]} | {kind.note} |"


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
