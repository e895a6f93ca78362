"""NaN equals itself and is greater than every number, whatever a file's statistics leave out."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask

SCHEMA = pa.schema(
    [("id", pa.int64()), ("a", pa.float64()), ("b", pa.float32()), ("s", pa.struct([("a", pa.float64())]))]
)
CONDITIONS = ("a = double('NaN')", "a > 100", "b IN (float('NaN'), 7)", "b >= 100", "s.a > 100")


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_rows_with_nan_are_found(engine: Engine, engine_warehouse: Path, file_format: str) -> None:
    name = f"nan.{file_format}"
    create_table(engine_warehouse, name, SCHEMA, options={"file.format": file_format})
    values = [0.5, math.nan, 1.5]
    rows = [{"id": id_, "a": each, "b": each, "s": {"a": each}} for id_, each in enumerate(values)]
    commit(engine_warehouse, name, pa.Table.from_pylist(rows, schema=SCHEMA))
    for condition in CONDITIONS:
        answer = ask(engine, f"SELECT id FROM {name} WHERE {condition}")
        assert [reading.scan for reading in answer.readings] == ["native"]
        assert answer.rows == [{"id": 1}], condition
