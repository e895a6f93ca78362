"""To newer Paimons -0.0 is a key before 0.0; the reader of ORC takes both for one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOCAL_BYTES
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import rows

BATCHES = "spark.sql.parquet.enableVectorizedReader"
KINDS = [("parquet", "true"), ("parquet", "false"), ("orc", "true")]


@pytest.fixture(params=KINDS, ids=" ".join)
def stored(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Mapping[str, str]]:
    """Options of a table. Of Parquet files keys are merged piece by piece."""
    file_format, batches = request.param
    most = "0" if file_format == "parquet" else str(1 << 20)
    for setting, value in ((LOCAL_BYTES, most), (BATCHES, batches)):
        rows(engine, f"SET {setting} = {value}")
    yield {"bucket": "1", "file.format": file_format, "write-only": "true"}
    for setting in (LOCAL_BYTES, BATCHES):
        rows(engine, f"RESET {setting}")


def test_both_are_keys(
    stored: Mapping[str, str], engine: Engine, engine_warehouse: Path, tmp_path: Path
) -> None:
    name = f"zeros.{tmp_path.name}"
    schema = pa.schema([pa.field("k", pa.float64(), nullable=False), ("v", pa.int32())])
    create_table(engine_warehouse, name, schema, primary_keys=["k"], options=stored)
    for columns in ([[-0.0, 1.0], [1, 2]], [[0.0, 1.0], [3, 4]], [[0.0], [6]]):
        commit(engine_warehouse, name, pa.table(columns, schema=schema))
    assert {row["v"] for row in rows(engine, f"SELECT v FROM {name}")} == {1, 4, 6}


def test_one_is_newer_than_the_other(
    stored: Mapping[str, str], engine: Engine, engine_warehouse: Path, tmp_path: Path
) -> None:
    name = f"zeros.{tmp_path.name}"
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32()), ("at", pa.float64())])
    create_table(
        engine_warehouse, name, schema, primary_keys=["k"], options={**stored, "sequence.field": "at"}
    )
    for columns in ([[1, 2], [1, 1], [0.0, -0.0]], [[1, 2], [2, 2], [-0.0, 0.0]]):
        commit(engine_warehouse, name, pa.table(columns, schema=schema))
    expected = {1: 1, 2: 2}
    assert {row["k"]: row["v"] for row in rows(engine, f"SELECT k, v FROM {name}")} == expected
    for k, v in expected.items():
        assert rows(engine, f"SELECT v FROM {name} WHERE k = {k}") == [{"v": v}]
