"""Keys too many for the engine are merged by Spark's tasks: the same rows, and errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOCAL_BYTES
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
OPTIONS = {"bucket": "1", "write-only": "true"}


def create_overlapping(warehouse: Path, name: str) -> list[dict[str, Any]]:
    """A table of files that overlap; the rows it has."""
    create_table(warehouse, name, SCHEMA, primary_keys=["id"], options=OPTIONS)
    rows: dict[int, str] = {}
    for number, ids in enumerate((range(0, 9), range(3, 12, 2), range(0, 4))):
        new = dict.fromkeys(ids, f"{number}")
        rows |= new
        commit(warehouse, name, pa.table([list(new), list(new.values())], schema=SCHEMA))
    return [{"id": id_, "name": name} for id_, name in rows.items()]


@pytest.fixture
def by_tasks(engine: Engine) -> Iterator[Engine]:
    assert ask(engine, f"SET {LOCAL_BYTES}=0").finish
    yield engine
    assert ask(engine, f"RESET {LOCAL_BYTES}").finish


def test_tasks_merge_as_the_engine_does(by_tasks: Engine, engine_warehouse: Path) -> None:
    rows = create_overlapping(engine_warehouse, "tasks.merged")
    answer = ask(by_tasks, "SELECT * FROM tasks.merged")
    assert [reading.scan for reading in answer.readings] == ["native"]
    assert in_order(answer.rows) == in_order(rows)


def test_a_file_that_is_gone_is_named(by_tasks: Engine, engine_warehouse: Path) -> None:
    create_overlapping(engine_warehouse, "tasks.gone")
    gone = next((engine_warehouse / "tasks.db" / "gone").rglob("*.parquet"))
    gone.unlink()
    assert gone.name in ask(by_tasks, "SELECT * FROM tasks.gone").failure.message
