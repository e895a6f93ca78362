"""What a source was told for one statement, or for one part of it, must not hold for another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, by_library, in_order, rows

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": None}]


@cache
def made(warehouse: Path, file_format: str) -> str:
    name = f"again.{file_format}"
    create_table(warehouse, name, SCHEMA, options={"file.format": file_format})
    for row in ROWS:
        commit(warehouse, name, pa.Table.from_pylist([row], schema=SCHEMA))
    return name


@pytest.fixture(scope="module", params=["parquet", pytest.param("avro", marks=pytest.mark.long)])
def table(request: pytest.FixtureRequest, engine: Engine, engine_warehouse: Path) -> Iterator[str]:
    """A table that Paimon's library reads."""
    with by_library(engine):
        yield made(engine_warehouse, request.param)


def test_a_condition_holds_for_its_own_statement_only(engine: Engine, table: str) -> None:
    everything = f"SELECT * FROM {table}"
    for condition, found in (("id > 2", ROWS[2:]), ("id = 1", ROWS[:1]), ("name IS NULL", ROWS[2:])):
        assert rows(engine, f"{everything} WHERE {condition}") == found
        assert in_order(rows(engine, everything)) == in_order(ROWS)


def test_a_condition_holds_for_its_own_part_of_a_statement_only(engine: Engine, table: str) -> None:
    first, third = (f"SELECT * FROM both WHERE id = {id_}" for id_ in (1, 3))
    united = f"WITH both AS (SELECT * FROM {table}) {first} UNION ALL {third}"
    assert in_order(rows(engine, united)) == in_order([ROWS[0], ROWS[2]])
    kept = f"again_{table.partition('.')[2]}"
    assert ask(engine, f"CREATE TEMPORARY VIEW {kept} AS SELECT * FROM {table}").finish
    for id_, row in enumerate(ROWS, start=1):
        assert rows(engine, f"SELECT * FROM {kept} WHERE id = {id_}") == [row]
    assert len(rows(engine, f"SELECT * FROM {kept}")) == len(ROWS)


def test_rows_are_counted_without_a_column(engine: Engine, table: str) -> None:
    assert rows(engine, f"SELECT count(*) AS n FROM {table}") == [{"n": 3}]
    assert rows(engine, f"SELECT count(*) AS n FROM {table} WHERE id < 3") == [{"n": 2}]
