"""Bits go to tasks with the splits of their file, and choose its rows however Spark reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.merging.model import Bits
from paimark.core.spark.native.bitmap import encoded
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("version", pa.int32())])
ROWS = 20_000
# Each makes Spark read files in another way.
WAYS = {
    "batches": {},
    "batches outside of Java's heap": {"spark.sql.columnVector.offheap.enabled": "true"},
    "rows of batches": {"spark.sql.codegen.maxFields": "1"},
    "rows": {
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.orc.enableVectorizedReader": "false",
    },
    "pieces of files": {"spark.sql.files.maxPartitionBytes": "20000"},
}


@cache
def made(warehouse: Path, file_format: str) -> str:
    """One big file, and two small ones that hide rows of it: the first at random, the other a stretch."""
    name = f"travelling.{file_format}"
    options = {"bucket": "1", "write-only": "true", "file.format": file_format}
    if file_format == "parquet":
        options["parquet.block.size"] = "20000"
    create_table(warehouse, name, SCHEMA, primary_keys=["id"], options=options)
    random = np.random.default_rng(7)
    some = np.sort(random.choice(ROWS, ROWS // 3, replace=False))
    for version, ids in enumerate((np.arange(ROWS), some, np.arange(ROWS - 300, ROWS + 300))):
        columns = [pa.array(ids), pa.array(np.full(len(ids), version, np.int32))]
        commit(warehouse, name, pa.table(columns, schema=SCHEMA))
    return name


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, engine_warehouse: Path) -> str:
    return made(engine_warehouse, request.param)


@contextmanager
def set_to(engine: Engine, settings: dict[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        assert ask(engine, f"SET {name}={value}").finish
    try:
        yield
    finally:
        for name in settings:
            assert ask(engine, f"RESET {name}").finish


@pytest.mark.parametrize("way", long_but(WAYS, "batches", "pieces of files"))
def test_only_rows_whose_bit_is_set_are_read(engine: Engine, table: str, way: str) -> None:
    sql = f"""SELECT version, count(id) AS rows, count(DISTINCT id) AS ids, sum(id) AS sum FROM {table}
              WHERE id + 0 >= 5 GROUP BY version ORDER BY version"""
    with set_to(engine, WAYS[way]):
        answer = ask(engine, sql)
    assert [reading.scan for reading in answer.readings] == ["native"]
    random = np.random.default_rng(7)
    some = np.sort(random.choice(ROWS, ROWS // 3, replace=False))
    newest = np.zeros(ROWS + 300, np.int64)
    newest[some] = 1
    newest[ROWS - 300 :] = 2
    ids = np.arange(5, ROWS + 300)
    expected = [
        {"version": version, "rows": len(of), "ids": len(of), "sum": int(of.sum())}
        for version in (0, 1, 2)
        for of in [ids[newest[5:] == version]]
    ]
    assert answer.rows == expected


def test_bits_are_made_small_where_that_helps() -> None:
    few = np.ones(80_000, np.bool_)
    few[::1000] = False
    assert len(encoded(Bits.of(few))) < 1_500
    mixed = np.random.default_rng(1).random(80_000) < 0.5
    assert len(encoded(Bits.of(mixed))) == 10_012
