"""Schemas of results without rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from paimark.core.export.result_file import arrow_type, empty_rows


@pytest.mark.parametrize(
    ("spark", "arrow"),
    [
        ("bigint", pa.int64()),
        ("decimal(10,2)", pa.decimal128(10, 2)),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("varchar(20)", pa.string()),
        ("interval day to second", pa.string()),
        ("array<decimal(10,2)>", pa.list_(pa.decimal128(10, 2))),
        ("map<string,array<int>>", pa.map_(pa.string(), pa.list_(pa.int32()))),
        (
            "struct<a:int,b:struct<`c d`:decimal(3,1),e:map<int,date>>>",
            pa.struct(
                {
                    "a": pa.int32(),
                    "b": pa.struct({"c d": pa.decimal128(3, 1), "e": pa.map_(pa.int32(), pa.date32())}),
                }
            ),
        ),
        ("struct<>", pa.struct([])),
    ],
)
def test_spark_names_have_their_arrow_type(spark: str, arrow: pa.DataType) -> None:
    assert arrow_type(spark) == arrow


def test_an_empty_result_keeps_columns_of_one_name() -> None:
    rows = empty_rows(["a", "a"], ["int", "string"])
    assert (rows.num_rows, rows.column_names) == (0, ["a", "a"])
