"""Which kinds of tables are written, which are refused by name, and that `docs/tables.md` says the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from paimark.core.table.definition import kinds
from paimark.core.table.definition.kinds import KINDS, WRITE_MODES, TableKind, WriteMode, reasons
from paimark.core.table.follow_ups import options as follow_ups
from paimark.core.table.records import SchemaField, TableSchema

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"
ALL: set[WriteMode] = set(WRITE_MODES)
NONE: set[WriteMode] = set()
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


def refused(table: TableSchema) -> set[WriteMode]:
    return {way for way in WRITE_MODES if reasons(table, way)}


@pytest.mark.parametrize(
    ("options", "ways"),
    [
        ({}, NONE),
        ({"merge-engine": "deduplicate", "sequence.field": "v", "write-only": "true"}, NONE),
        ({"merge-engine": "First-Row "}, ALL),
        ({"merge-engine": "first-row", "changelog-producer": "lookup"}, ALL),
        ({"deletion-vectors.enabled": "true"}, ALL),
        ({"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, ALL),
        ({"deletion-vectors.enabled": "false"}, NONE),
        ({"merge-engine": "partial-update"}, NONE),
        ({"merge-engine": "partial-update", "fields.v.sequence-group": "k"}, ALL),
        ({"merge-engine": "partial-update", "fields.v.aggregate-function": "sum"}, ALL),
        ({"merge-engine": "partial-update", "fields.default-aggregate-function": "sum"}, ALL),
        ({"merge-engine": "partial-update", "partial-update.ignore-delete": "true"}, ALL),
        ({"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"}, ALL),
        ({"merge-engine": "partial-update", "ignore-delete": "false"}, NONE),
        ({"ignore-delete": "true", "rowkind.field": "v"}, NONE),
        ({"merge-engine": "aggregation"}, {"rewrite"}),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, {"rewrite"}),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}, ALL),
        ({"merge-engine": "aggregation", "fields.default-aggregate-function": "collect"}, ALL),
        ({"merge-engine": "aggregation", "fields.v.ignore-retract": "true"}, ALL),
        ({"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}, ALL),
        ({"changelog-producer": "input"}, NONE),
        ({"changelog-producer": "lookup"}, NONE),
        ({"changelog-producer": "full-compaction"}, NONE),
        ({"bucket": "-1"}, NONE),
        ({"bucket": "-2"}, ALL),
        ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, ALL),
        ({"bucket-function.type": "default"}, NONE),
        ({"bucket-function.type": "mod"}, ALL),
        ({"sequence.snapshot-ordering": "true", "write-only": "true"}, ALL),
        ({"upsert-key": "v"}, ALL),
        ({"primary-key.nullable": "true"}, ALL),
        ({"record-level.expire-time": "1 d", "record-level.time-field": "v"}, NONE),
        ({"scan.fallback-branch": "b"}, NONE),
        ({"scan.primary-branch": "b"}, NONE),
        ({"chain-table.enabled": "true"}, ALL),
        ({"row-tracking.enabled": "true"}, ALL),
        ({"data-evolution.enabled": "true"}, ALL),
        ({"pk-clustering-override": "true"}, ALL),
        ({"pk-btree.index.columns": "v"}, ALL),
        ({"fields.v.map.storage-layout": "shared-shredding"}, ALL),
        ({"target-file-row-num": "5"}, ALL),
        ({"file.format": "orc"}, NONE),
        ({"file.format": "lance"}, ALL),
        ({"manifest.format": "avro"}, NONE),
        ({"manifest.format": "ORC"}, ALL),
        ({"commit.callbacks": "x.Y"}, ALL),
        ({"commit.strict-mode.last-safe-snapshot": "4"}, ALL),
        ({"query-auth.enabled": "true"}, ALL),
        ({"type": "table"}, NONE),
        ({"type": "format-table"}, ALL),
        ({"owner": "me", "file-index.bloom-filter.columns": "v"}, NONE),
    ],
)
def test_options_that_make_a_table_one_that_is_refused(
    options: Mapping[str, str], ways: set[WriteMode]
) -> None:
    assert refused(schema(options)) == ways


def test_tables_without_a_key_have_no_use_for_the_options_of_those_with_one() -> None:
    for name, value in {"merge-engine": "first-row", "bucket": "-2", "changelog-producer": "input"}.items():
        assert refused(schema({name: value}, keys=())) == NONE
    assert refused(schema({"deletion-vectors.enabled": "true"}, keys=())) == ALL


def test_keys_are_looked_for_in_all_partitions_where_a_partition_column_is_no_key() -> None:
    across = schema({"bucket": "-1"}, partition_keys=("v",))
    assert reasons(across, "add") == [
        "looks for keys across partitions, by an index that this version does not have "
        "(bucket = -1, and v is not in the primary key)"
    ]
    assert refused(schema({"bucket": "-1"}, keys=("k", "v"), partition_keys=("v",))) == NONE


@pytest.mark.parametrize(
    ("kind", "ways"),
    [
        ("TIMESTAMP(6)", NONE),
        ("TIMESTAMP(9)", ALL),
        ("TIMESTAMP(7) WITH LOCAL TIME ZONE", ALL),
        ("TIMESTAMP_LTZ(9)", ALL),
        ("VARIANT", ALL),
        ("BLOB", ALL),
        ({"type": "ARRAY", "element": "TIMESTAMP(9)"}, ALL),
        ({"type": "MULTISET", "element": "INT"}, ALL),
        ({"type": "VECTOR", "element": "FLOAT", "length": 3}, ALL),
        (MAP, NONE),
    ],
)
def test_columns_that_spark_can_not_keep(kind: object, ways: set[WriteMode]) -> None:
    assert refused(schema(x=kind)) == ways


@pytest.mark.parametrize("kind", [MAP, {"type": "ARRAY", "element": MAP}])
def test_maps_are_not_written_to_avro_files(kind: object) -> None:
    assert refused(schema({"file.format": "AVRO"}, x=kind)) == ALL
    assert refused(schema({"file.format": "AVRO"}, x={"type": "ARRAY", "element": "INT"})) == NONE
    assert refused(schema({"file.format": "orc"}, x=kind)) == NONE


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE NOT NULL", "BYTES", "VARBINARY(3)"])
def test_columns_that_can_not_be_partitions(kind: str) -> None:
    assert refused(schema(x=kind)) == NONE
    assert refused(schema(x=kind, keys=(), partition_keys=("x",))) == ALL


@pytest.mark.parametrize("kind", ["TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(6) NOT NULL"])
def test_partitions_by_moments_lie_where_their_writer_is(kind: str) -> None:
    def partitioned(**options: str) -> TableSchema:
        return schema(options, x=kind, keys=(), partition_keys=("x",))

    assert refused(partitioned()) == refused(partitioned(**{"partition.legacy-name": "TRUE"})) == NONE
    assert refused(partitioned(**{"partition.legacy-name": "false"})) == ALL
    assert refused(schema({"partition.legacy-name": "false"}, x=kind)) == NONE
    without_zone = schema({"partition.legacy-name": "false"}, x="TIMESTAMP(3)", partition_keys=("x",))
    assert refused(without_zone) == NONE


def test_the_library_writes_more_kinds_and_the_hint_names_it() -> None:
    grouped = schema({"merge-engine": "partial-update", "fields.v.sequence-group": "k"})
    assert reasons(grouped, "add", by_library=True) == []
    [refusal] = kinds.refusals(grouped, "add")
    assert refusal.hint == kinds.LIBRARY_HINT and "paimark jars fetch paimon" in refusal.hint
    [refusal] = kinds.refusals(grouped, "rewrite")
    assert refusal.hint == kinds.HINT
    assert reasons(grouped, "rewrite", by_library=True) == [refusal.reason]
    upserted = schema({"upsert-key": "v"})
    assert [each.hint for each in kinds.refusals(upserted, "add", by_library=True)] == [kinds.HINT]
    assert [each.hint for each in kinds.compaction_refusals(upserted)] == [kinds.HINT]
    assert kinds.compaction_refusals(grouped) == []
    for kind in KINDS:
        assert kind.library_refuses <= kind.refused, kind.name


def test_the_sentence_names_the_option() -> None:
    (reason,) = reasons(schema({"merge-engine": "first-row"}), "rewrite")
    assert reason.endswith("seen by nobody there (merge-engine = first-row)")


def test_the_documentation_shows_every_kind_as_the_code_has_it() -> None:
    text = DOCS.read_text()
    missing = [row for kind in KINDS if (row := documented(kind)) not in text]
    assert not missing, "docs/tables.md lacks:\n" + "\n".join(missing)
    table = text.partition("| kind of table | known by |")[2].partition("\n\n")[0]
    rows = ["", *(line for line in table.splitlines() if line.startswith("| "))]
    assert len(rows) == len(KINDS) + 1


def documented(kind: TableKind) -> str:
    ways = [
        "refused" if way in kind.library_refuses else "library" if way in kind.refused else "works"
        for way in WRITE_MODES
    ]
    return f"| {kind.name} | {kind.known_by} | {' | '.join(ways)} | {kind.note} |"


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
