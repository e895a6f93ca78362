"""Fields, elements and values that may not be null: written as stock Paimon reads them, or refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import create_table
from tests.spark.engine_fixture import by_library, rows
from tests.spark.writing.test_insert import agreed
from tests.wording import about

ROW = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("b", pa.string())])
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("r", ROW),
        pa.field("s", ROW, nullable=False),
        pa.field("l", pa.list_(pa.field("element", ROW, nullable=False))),
        pa.field("m", pa.map_(pa.string(), pa.field("value", ROW, nullable=False))),
    ]
)
_WHOLE = "named_struct('a', 1, 'b', 'x'), named_struct('a', 2, 'b', CAST(NULL AS STRING))"
_NESTED = "array(named_struct('a', 3, 'b', 'y')), map('z', named_struct('a', 4, 'b', 'w'))"
_NO_INT = "CAST(NULL AS INT)"
_EMPTY = "CAST(NULL AS STRUCT<a: INT, b: STRING>), named_struct('a', 5, 'b', 'v'), array(), map()"

# In the judge's format.
WRITTEN = [
    [1, [1, "x"], [2, None], [[3, "y"]], [["z", [4, "w"]]]],
    [2, None, [5, "v"], [], []],
]


@pytest.mark.parametrize(
    "keys", [pytest.param([], id="append", marks=pytest.mark.long), pytest.param(["k"], id="keyed")]
)
@pytest.mark.parametrize("file_format", long_but(["parquet", "orc"], "parquet"))
def test_required_fields_are_written_as_stock_reads_them(
    engine: Engine, engine_warehouse: Path, judge: Judge, file_format: str, keys: list[str]
) -> None:
    name = f"required.{file_format}_{len(keys)}"
    options = {"bucket": "1" if keys else "-1", "file.format": file_format}
    create_table(engine_warehouse, name, SCHEMA, primary_keys=keys, options=options)
    agreed(engine, f"INSERT INTO {name} VALUES (1, {_WHOLE}, {_NESTED}), (2, {_EMPTY})")
    assert sorted(judge.rows(engine_warehouse, name)) == WRITTEN
    whole = f"SELECT k, to_json(struct(r, s, l, m)) AS j FROM {name} ORDER BY k"
    natively = rows(engine, whole)
    with by_library(engine):
        assert rows(engine, whole) == natively
    if file_format == "orc":
        with pytest.raises(paimark.Refused, match=about(name, "ORC", "null")) as refused:
            paimark.open(str(engine_warehouse)).table(name).at().to_arrow()
        assert "jars fetch" in refused.value.hint
    assert [row["k"] for row in natively] == [1, 2]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("r", f"named_struct('a', {_NO_INT}, 'b', 'x'), named_struct('a', 2, 'b', 'b'), {_NESTED}"),
        ("l", f"{_WHOLE}, array(named_struct('a', {_NO_INT}, 'b', 'x')), map()"),
        ("l", f"{_WHOLE}, array(CAST(NULL AS STRUCT<a: INT, b: STRING>)), map()"),
        ("m", f"{_WHOLE}, array(), map('z', named_struct('a', {_NO_INT}, 'b', 'x'))"),
    ],
)
def test_a_null_in_a_required_field_is_refused(
    engine: Engine, engine_warehouse: Path, column: str, values: str
) -> None:
    name = "required.refusing"
    if not (engine_warehouse / "required.db" / "refusing").exists():
        create_table(engine_warehouse, name, SCHEMA, options={"bucket": "-1"})
    refusal = agreed(engine, f"INSERT INTO {name} VALUES (3, {values})").failure
    assert refusal.message == f"Column {column} holds a null where its type has none"
    assert rows(engine, f"SELECT * FROM {name}") == []
