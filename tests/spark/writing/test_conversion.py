"""What a program writes through the data source is in the table as it was, or refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from paimark.core.errors import Refused
from paimark.core.spark.source import PaimarkSource
from tests.paimon import create_table, read_rows

COLUMNS = pa.schema(
    [
        ("small", pa.int8()),
        ("number", pa.int64()),
        ("flag", pa.bool_()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("money", pa.decimal128(5, 1)),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("second", pa.timestamp("ms")),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("place", pa.struct([("x", pa.float32()), ("y", pa.int32())])),
        ("reals", pa.list_(pa.float32())),
        ("prices", pa.map_(pa.string(), pa.decimal128(5, 1))),
        ("firm", pa.list_(pa.field("item", pa.int32(), nullable=False))),
        ("counts", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        ("short", pa.string()),
        ("few", pa.binary()),
    ]
)
# Arrow converts no parts that may be null to parts that may not.
WHOLE = pa.schema([("whole", pa.struct([pa.field("x", pa.int32(), nullable=False), ("y", pa.int32())]))])
WORDS = {"short": "VARCHAR(3)", "few": "VARBINARY(2)"}
NOON = dt.datetime(2026, 5, 1, 12)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fitting")
    create_table(path, "shop.fit", COLUMNS, words=WORDS)
    create_table(path, "shop.whole", WHOLE)
    return path


def write(warehouse: Path, column: str, values: pa.Array) -> None:
    """As Spark does: the writer is asked for with the frame's columns, and gets them as they are."""
    table = "shop.whole" if column == "whole" else "shop.fit"
    options: Any = CaseInsensitiveDict({"warehouse": str(warehouse), "table": table})
    batch = pa.record_batch([values], [column])
    schema: StructType = from_arrow_schema(batch.schema, prefer_timestamp_ntz=True)
    writer = PaimarkSource(options).writer(schema, True)
    writer.commit([writer.write(iter([batch]))])


def array(kind: pa.DataType, *values: object) -> pa.Array:
    return pa.array([*values, None], kind)


@pytest.mark.parametrize(
    ("column", "given", "kinds"),
    [
        ("day", array(pa.timestamp("us"), NOON), "is date, and the rows have timestamp_ntz"),
        ("day", array(pa.string(), "2026-05-01"), "is date, and the rows have string"),
        ("day", array(pa.int32(), 5), "is date, and the rows have int"),
        (
            "second",
            array(pa.timestamp("us", tz="UTC"), NOON),
            "and the rows have timestamp",
        ),
        ("second", array(pa.int64(), 5), "is timestamp_ntz, and the rows have bigint"),
        ("moment", array(pa.timestamp("us"), NOON), "is timestamp, and the rows have timestamp_ntz"),
        ("moment", array(pa.date32(), NOON.date()), "is timestamp, and the rows have date"),
        ("flag", array(pa.int32(), 2), "is boolean, and the rows have int"),
        ("small", array(pa.string(), "0x1F"), "is tinyint, and the rows have string"),
        ("number", array(pa.bool_(), True), "is bigint, and the rows have boolean"),
        ("text", array(pa.float64(), 1e300), "is string, and the rows have double"),
        ("text", array(pa.binary(), b"a"), "is string, and the rows have binary"),
        ("bytes", array(pa.string(), "a"), "is binary, and the rows have string"),
        (
            "place",
            array(pa.struct([("x", pa.float32()), ("z", pa.int32())]), {"x": 1, "z": 2}),
            "is struct<x:float,y:int>, and the rows have struct<x:float,z:int>",
        ),
        (
            "place",
            array(pa.struct([("x", pa.float64())]), {"x": 1e300}),
            "the rows have struct<x:double>",
        ),
        ("reals", array(pa.list_(pa.float64()), [1e300]), "and the rows have array<double>"),
        ("prices", array(pa.map_(pa.string(), pa.float64()), [("a", 1.55)]), "and the rows have map<"),
    ],
)
def test_a_type_of_which_values_would_be_others_is_refused(
    shop: Path, column: str, given: pa.Array, kinds: str
) -> None:
    with pytest.raises(Refused) as refused:
        write(shop, column, given)
    assert refused.value.message.startswith(f"Column {column} of shop.fit is ")
    assert kinds in refused.value.message
    assert "cast" in refused.value.hint


@pytest.mark.parametrize(
    ("column", "given", "value"),
    [
        ("real", array(pa.float64(), 1.5, -1e300), "-1e+300"),
        ("money", array(pa.float64(), 1.5, 1.55), "1.55"),
        ("money", array(pa.float32(), 1.25), "1.25"),
        ("short", array(pa.string(), "äöü", "four"), "four"),
        ("few", array(pa.binary(), b"ab", b"abc"), "b'abc'"),
    ],
)
def test_a_value_that_would_be_another_is_refused(
    shop: Path, column: str, given: pa.Array, value: str
) -> None:
    with pytest.raises(Refused) as refused:
        write(shop, column, given)
    assert refused.value.message == f"Column {column} can't hold {value} as it is"


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("small", array(pa.int64(), 128)),
        ("small", array(pa.float64(), 1.5)),
        ("number", array(pa.decimal128(5, 1), Decimal("1.5"))),
        ("double", array(pa.int64(), 2**53 + 1)),
        ("money", array(pa.decimal128(10, 2), Decimal("1.55"))),
        ("money", array(pa.float64(), float("nan"))),
        ("second", array(pa.timestamp("us"), NOON.replace(microsecond=1))),
    ],
)
def test_what_arrow_itself_refuses(shop: Path, column: str, given: pa.Array) -> None:
    with pytest.raises(Refused, match=f"Column {column} holds what .* can't"):
        write(shop, column, given)


INTS, MAPS = pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("firm", array(INTS, [1], [2, None])),
        ("whole", pa.array([{"x": None, "y": 1}], WHOLE.field("whole").type)),
        ("whole", array(pa.struct([("y", pa.int32())]), {"y": 1})),
        ("counts", array(MAPS, [("a", 1), ("b", None)])),
    ],
)
def test_a_null_within_a_value_is_refused_where_there_may_be_none(
    shop: Path, column: str, given: pa.Array
) -> None:
    with pytest.raises(Refused, match=f"Column {column} holds a null where its type has none"):
        write(shop, column, given)


@pytest.mark.parametrize(
    ("column", "given", "expected"),
    [
        ("small", array(pa.int64(), 127), 127),
        ("small", array(pa.float64(), 5.0), 5),
        ("real", array(pa.float64(), 1.5, float("inf")), 1.5),
        ("real", array(pa.decimal128(5, 1), Decimal("1.5")), 1.5),
        ("double", array(pa.int64(), 2**53), 2.0**53),
        ("money", array(pa.float64(), 0.1), Decimal("0.1")),
        ("money", array(pa.decimal128(10, 2), Decimal("1.50")), Decimal("1.5")),
        ("text", array(pa.int32(), 5), "5"),
        ("text", array(pa.bool_(), True), "true"),
        ("text", array(pa.date32(), NOON.date()), "2026-05-01"),
        ("second", array(pa.date32(), NOON.date()), NOON.replace(hour=0)),
        ("moment", array(pa.timestamp("us", tz="Europe/Berlin"), NOON), NOON.replace(tzinfo=dt.UTC)),
        ("place", array(pa.struct([("y", pa.int8())]), {"y": 1}), {"x": None, "y": 1}),
        ("reals", array(pa.list_(pa.float32()), [1.5]), [1.5]),
        ("firm", array(INTS, [1, 2], None), [1, 2]),
        ("firm", array(INTS, [3], [1, 2]).slice(1), [1, 2]),
        ("counts", array(MAPS, [("a", 1)], None), [("a", 1)]),
        ("counts", array(MAPS, [("b", None)], [("a", 1)]).slice(1), [("a", 1)]),
        ("short", array(pa.string(), "äöü"), "äöü"),
        ("small", pa.nulls(1), None),
    ],
)
def test_what_fits_is_written(shop: Path, column: str, given: pa.Array, expected: object) -> None:
    write(shop, column, given)
    assert read_rows(shop, "shop.fit")[0][column] == expected
