"""What pypaimon-rust is given to read, and the reason where Python reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pypaimon.schema.data_types import ArrayType, AtomicType, DataField, RowType

from paimark.core.spark.datasource.rust.judgement import (
    FileFacts,
    SplitFacts,
    TableFacts,
    rust_options,
    why_not_split,
    why_not_table,
)
from paimark.core.spark.datasource.rust.stores import store_access

FIELDS = (DataField(0, "k", AtomicType("INT", False)), DataField(1, "v", AtomicType("STRING")))


def row(*kinds: str) -> RowType:
    return RowType(True, [DataField(10 + n, f"f{n}", AtomicType(kind)) for n, kind in enumerate(kinds)])


def table(
    options: Mapping[str, str] | None = None,
    *,
    fields: tuple[Any, ...] = FIELDS,
    keys: tuple[str, ...] = ("k",),
    partitions: tuple[str, ...] = (),
    warehouse: str = "/lake",
) -> TableFacts:
    return TableFacts(store_access(warehouse, {}), fields, options or {}, keys, partitions)


def file(
    name: str = "data-1.parquet",
    *,
    level: int = 5,
    deletes: int | None = 0,
    is_partial: bool = False,
    fields: tuple[Any, ...] | None = FIELDS,
    is_elsewhere: bool = False,
    has_vector: bool = False,
) -> FileFacts:
    return FileFacts(name, level, deletes, is_partial, fields, is_elsewhere, has_vector)


def of(kind: Any) -> tuple[DataField, ...]:
    return (FIELDS[0], DataField(1, "v", AtomicType(kind) if isinstance(kind, str) else kind))


@pytest.mark.parametrize(
    "facts",
    [
        table(),
        table({"merge-engine": "partial-update", "bucket": "-1", "write-only": "true"}),
        table({"merge-engine": "aggregation", "fields.v.aggregate-function": "last_non_null_value"}),
        table({"fields.default-aggregate-function": "sum"}, fields=of("DECIMAL(9, 2)")),
        table({"sequence.field": "v", "sequence.field.sort-order": "ascending"}),
        table({"rowkind.field": "v"}),
        table(fields=of(ArrayType(True, row("TIMESTAMP_LTZ(6)", "DECIMAL(38, 10)")))),
    ],
)
def test_a_table_that_it_reads(facts: TableFacts) -> None:
    assert why_not_table(facts) == ""


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (table(warehouse="gs://lake/w"), "it is not tried on gs"),
        (table({"merge-engine": "newest"}), "merge-engine is newest"),
        (table({"fields.v.aggregate-function": "listagg"}), "fields.v.aggregate-function is listagg"),
        (table({"fields.v.sequence-group": "w"}), "fields.v.sequence-group is w"),
        (table({"sequence.field.sort-order": "descending"}), "sequence.field.sort-order is descending"),
        (table({"deletion-vectors.merge-on-read": "true"}), "deletion-vectors.merge-on-read is true"),
        (
            table({"rowkind.field": "v", "merge-engine": "partial-update"}),
            "rowkind.field, by which nobody counts deletes, and merge-engine partial-update",
        ),
        (
            table(
                {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
                fields=of("DECIMAL(9, 2)"),
            ),
            "column v is the sum of DECIMAL(9, 2)",
        ),
        (
            table(
                {"merge-engine": "aggregation", "fields.default-aggregate-function": "max"},
                fields=of("DOUBLE"),
            ),
            "column v is the max of DOUBLE",
        ),
        (table(fields=of("TIMESTAMP(9)")), "column v is TIMESTAMP(9)"),
        (table(fields=of("VARIANT")), "column v is VARIANT"),
        (table(fields=of(ArrayType(True, AtomicType("TIME(0)")))), "column v is TIME(0)"),
        (table(fields=of("DOUBLE"), keys=("v",)), "key column v is DOUBLE"),
        (table({"sequence.field": "k, v"}, fields=of("FLOAT")), "sequence column v is FLOAT"),
        (table(fields=of("DECIMAL(9, 2)"), partitions=("v",)), "partition column v is DECIMAL(9, 2)"),
        (table(fields=(DataField(0, "_KEY_k", AtomicType("INT")),)), "a column is called _KEY_k"),
    ],
)
def test_a_table_that_python_reads(facts: TableFacts, reason: str) -> None:
    assert why_not_table(facts) == reason


@pytest.mark.parametrize(
    ("facts", "files", "reason"),
    [
        (table(), [file(), file("data-2.orc", level=0), file("data-3.avro", deletes=3)], ""),
        (table(), [file(), file("data-1.row")], "row files"),
        (table(), [file(is_elsewhere=True)], "files in another store"),
        (table(), [file(is_partial=True)], "files that hold some of the columns"),
        (table({"deletion-vectors.enabled": "true"}), [file(), file(has_vector=True)], ""),
        (
            table({"deletion-vectors.enabled": "true"}),
            [file(), file("data-2.orc", has_vector=True)],
            "deletion vectors of orc files",
        ),
        (
            table({"deletion-vectors.enabled": "true"}),
            [file(), file(level=0)],
            "files that no compaction has looked at",
        ),
        (table({"merge-engine": "first-row"}), [file(level=0)], "files that no compaction has looked at"),
        (table({"merge-engine": "first-row"}, keys=()), [file(level=0)], ""),
        (table({"merge-engine": "aggregation"}), [file(deletes=1)], "files with deletes"),
        (table({"merge-engine": "partial-update"}), [file(deletes=None)], "files with deletes"),
        (table(), [file(fields=None)], "a schema that files were written with is missing"),
        (table(fields=of("BIGINT")), [file(fields=of("SMALLINT"))], ""),
        (table(fields=of("INT")), [file(fields=of("STRING"))], "column v was STRING once"),
        (table(fields=of(row("INT"))), [file(fields=of(row("INT")))], ""),
        (
            table(fields=of(row("INT"))),
            [file("data.avro", fields=of(row("INT")))],
            "column v is ROW in avro files",
        ),
        (
            table(fields=of("CHAR(5)")),
            [file("data.orc", fields=of("CHAR(5)"))],
            "column v is CHAR in orc files",
        ),
        (
            table(fields=of(ArrayType(True, AtomicType("TIMESTAMP(3)")))),
            [file("data.orc", fields=of(ArrayType(True, AtomicType("TIMESTAMP(3)"))))],
            "column v is TIMESTAMP in orc files",
        ),
    ],
)
def test_a_split(facts: TableFacts, files: list[FileFacts], reason: str) -> None:
    assert why_not_split(facts, SplitFacts(files, is_plain=True, is_streaming=False)) == reason


def test_what_is_no_batch_of_data_files() -> None:
    assert why_not_split(table(), SplitFacts([file()], is_plain=False, is_streaming=False))
    written = SplitFacts([file()], is_plain=True, is_streaming=True)
    assert why_not_split(table(), written)
    assert not why_not_split(table(keys=()), written)


def test_it_is_told_of_how_rows_are_merged_and_of_nothing_else() -> None:
    merging = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "sequence.field": "k"}
    others = {"scan.mode": "latest", "file-index.read.enabled": "true", "record-level.expire-time": "1 d"}
    assert rust_options(merging | others) == merging | {"file-index.read.enabled": "false"}
