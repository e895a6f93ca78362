"""Columns whose type was changed: conditions keep every row, and what would be misread is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimark
from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import create_table
from tests.spark.engine_fixture import by_library, rows
from tests.wording import about

# By name: the type and values that two files were written with, the type since, and conditions with the rows
# (1 and 2) that satisfy them.
CHANGES: dict[str, tuple[pa.DataType, tuple[Any, Any], str, dict[str, list[int]]]] = {
    "wider": (pa.int32(), (12, 7), "BIGINT", {"c = 12": [1], "c > 8": [1], "c < 100": [1, 2]}),
    "string_to_int": (pa.string(), ("12", "7"), "INT", {"c = 12": [1], "c > 8": [1], "c < 100": [1, 2]}),
    "fewer_digits": (
        pa.decimal128(6, 2),
        ("12.66", "7.20"),
        "DECIMAL(6, 1)",
        {"c = 12.7": [1], "c >= 12.7": [1]},
    ),
}


@pytest.mark.parametrize("name", long_but(CHANGES, "string_to_int"))
def test_conditions_keep_rows_written_with_another_type(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kind, values, changed, conditions = CHANGES[name]
    table = f"changed.{name}"
    schema = pa.schema([pa.field("k", pa.int32()), pa.field("c", kind)])
    create_table(engine_warehouse, table, schema, options={"bucket": "-1"})
    for number, value in enumerate(values, start=1):
        # Stock Paimon's files have statistics.
        judge.write(engine_warehouse, table, [{"k": number, "c": value}])
    judge.alter(engine_warehouse, table, "widen", "c", type=changed)

    def found() -> dict[str, list[int]]:
        return {
            each: sorted(row["k"] for row in rows(engine, f"SELECT k FROM {table} WHERE {each}"))
            for each in conditions
        }

    with by_library(engine):
        assert found() == conditions
    by_python = paimark.open(str(engine_warehouse)).table(table)
    if name == "wider":
        assert by_python.at().to_arrow().num_rows == 2
        return
    with pytest.raises(paimark.Refused, match=about("column c", table)) as refused:
        by_python.at().to_arrow(["c"])
    assert "paimark jars fetch paimon" in refused.value.hint
    # Other columns are readable, and all of them as of before the change.
    assert by_python.at().to_arrow(["k"]).num_rows == 2
    assert by_python.at("snapshot.1").to_arrow().num_rows == 1


def test_a_bucket_key_of_another_type_rules_no_bucket_out(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """The same number has another hash as another type."""
    table = "changed.bucketed"
    schema = pa.schema([pa.field("k", pa.int32()), pa.field("c", pa.int32())])
    create_table(engine_warehouse, table, schema, options={"bucket": "8", "bucket-key": "c"})
    judge.write(engine_warehouse, table, [{"k": each, "c": -each} for each in range(1, 9)])
    judge.alter(engine_warehouse, table, "widen", "c", type="BIGINT")

    def found() -> list[int]:
        asked = (f"SELECT k FROM {table} WHERE c = -{each} AND k > 0" for each in range(1, 9))
        return [row["k"] for sql in asked for row in rows(engine, sql)]

    assert found() == [*range(1, 9)]
    with by_library(engine):
        assert found() == [*range(1, 9)]


def test_decimals_lose_digits_as_in_stock_paimon(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "changed.halves"
    schema = pa.schema([pa.field("k", pa.int32()), pa.field("c", pa.decimal128(6, 2))])
    create_table(engine_warehouse, table, schema, options={"bucket": "-1"})
    judge.write(engine_warehouse, table, [{"k": 1, "c": "0.25"}, {"k": 2, "c": "-0.25"}])
    judge.alter(engine_warehouse, table, "widen", "c", type="DECIMAL(6, 1)")
    found = rows(engine, f"SELECT c FROM {table} ORDER BY k")
    assert [row["c"] for row in found] == [Decimal("0.3"), Decimal("-0.3")]
