"""A table made ready: its first query reads no metadata and no keys again, and no other is answered by it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import WARM_UP
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask, rows
from tests.table.branches import create_branch

_SCHEMA = pa.schema([pa.field("key", pa.int64(), nullable=False), pa.field("value", pa.string())])
_PATIENCE = 120.0


@pytest.fixture
def ready(engine: Engine) -> Iterator[Engine]:
    """An engine that does what can be done before it is asked."""
    rows(engine, f"SET {WARM_UP} = on")
    yield engine
    rows(engine, f"SET {WARM_UP} = off")


def prefetch(engine: Engine, sql: str) -> None:
    process = engine._process
    assert process is not None
    engine.prefetch(sql)
    assert process.wait(lambda: process.prefetched == sql, _PATIENCE)


def keyed(warehouse: Path, name: str, *, steps: int = 2) -> Path:
    """A table whose snapshots have keys in common: at snapshot n values end with n."""
    create_table(warehouse, name, _SCHEMA, primary_keys=["key"], options={"bucket": "1"})
    for step in range(1, steps + 1):
        upsert(warehouse, name, str(step))
    database, _, table = name.partition(".")
    return warehouse / f"{database}.db" / table


def upsert(warehouse: Path, name: str, end: str) -> None:
    columns = {"key": list(range(6)), "value": [f"{each}-{end}" for each in range(6)]}
    commit(warehouse, name, pa.table(columns, schema=_SCHEMA))


def hide_files(table: Path) -> None:
    """All that tells which files there are, and the files; what names them stays."""
    shutil.rmtree(table / "bucket-0")
    for each in (table / "manifest").glob("manifest-*"):
        if "list" not in each.name:
            each.unlink()


def values(engine: Engine, rest: str) -> set[str]:
    return {row["value"].partition("-")[2] for row in rows(engine, f"SELECT value FROM {rest}")}


def test_the_first_query_finds_all_that_it_would_have_read(ready: Engine, engine_warehouse: Path) -> None:
    # The setting, and nothing else, is why.
    rows(ready, f"SET {WARM_UP} = off")
    table = keyed(engine_warehouse, "ready.without")
    prefetch(ready, "SELECT * FROM ready.without VERSION AS OF 2")
    hide_files(table)
    assert "manifest" in ask(ready, "SELECT count(*) FROM ready.without VERSION AS OF 2").failure.message
    rows(ready, f"SET {WARM_UP} = on")
    table = keyed(engine_warehouse, "ready.t")
    prefetch(ready, "SELECT * FROM ready.t VERSION AS OF 2")
    hide_files(table)
    assert rows(ready, "SELECT count(*) AS n FROM ready.t VERSION AS OF 2") == [{"n": 6}]


def test_no_other_snapshot_branch_or_table_is_answered_by_it(ready: Engine, engine_warehouse: Path) -> None:
    table = keyed(engine_warehouse, "ready.moved")
    open_table(engine_warehouse, "ready.moved").create_tag("v1", 1)
    create_branch(engine_warehouse, "ready.moved", "b", "v1")
    branch = "ready.moved$branch_b"
    upsert(engine_warehouse, branch, "branch")
    prefetch(ready, "SELECT * FROM ready.moved")
    assert values(ready, "ready.moved") == {"2"}
    assert values(ready, "ready.moved VERSION AS OF 1") == {"1"}
    assert values(ready, "ready.`moved$branch_b` VERSION AS OF 2") == {"branch"}
    # Another snapshot by the same number; another table by the same name.
    prefetch(ready, "SELECT * FROM ready.moved VERSION AS OF 2")
    shutil.copy(table / "branch/branch-b/snapshot/snapshot-2", table / "snapshot/snapshot-2")
    assert values(ready, "ready.moved VERSION AS OF 2") == {"branch"}
    shutil.rmtree(table)
    keyed(engine_warehouse, "ready.moved", steps=1)
    assert values(ready, "ready.moved") == {"1"}


def test_what_is_no_query_of_a_table_there_is_passes_unheard(ready: Engine) -> None:
    for sql in (
        "SELECT * FROM ready.nowhere",
        "SELECT",
        "DROP TABLE shop.orders",
        "SELECT 1",
        "SELECT FROM (",
    ):
        prefetch(ready, sql)
    assert len(rows(ready, "SELECT * FROM shop.orders")) == 8
