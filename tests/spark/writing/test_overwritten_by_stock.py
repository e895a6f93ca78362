"""What Spark committed and another engine overwrote before anybody was told of it is not called done."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Finished, Task
from paimark.core.statements.insert import action_of_insert
from paimark.core.table.commits import Overwritten
from paimark.core.table.layout import TablePath
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on, done, planned
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, read_rows

TABLE = TablePath("by_stock", "orders")


@dataclass
class Overwriting:
    """An engine whose commits are overwritten before it says that it has ended."""

    engine: Engine
    deed: Callable[[], None]

    def do(self, task: Task) -> Generator[Event]:
        for event in self.engine.do(task):
            if isinstance(event, Finished):
                self.deed()
            yield event


def row(order_id: int) -> pa.Table:
    return pa.table({"order_id": [order_id], "customer": ["c"], "price": [1.0]}, schema=ORDERS)


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    """On a table with two commits; a stock writer has all but moved its own to the place of the third."""
    create_table(engine_warehouse, TABLE.full_name, ORDERS)
    for order_id in (1, 2, 3):
        commit(engine_warehouse, TABLE.full_name, row(order_id))
    third = engine_warehouse / TABLE.root().snapshot(3)
    theirs = third.read_bytes()
    third.unlink()
    third.with_name("LATEST").write_text("2")
    overwriting = cast(Engine, Overwriting(engine, lambda: _put(third, theirs)))
    return replace(
        context_on(engine_warehouse), audit_path=tmp_path / "state" / "audit", engine=lambda: overwriting
    )


def _put(path: Path, data: bytes) -> None:
    if path.exists():
        path.write_bytes(data)


def keys(context: Context) -> list[int]:
    return sorted(row["order_id"] for row in read_rows(Path(context.files.uri), TABLE.full_name))


def test_inserted_rows_and_a_rollback_are_not_called_done(context: Context) -> None:
    inserts = action_of_insert(read_statement(f"INSERT INTO {TABLE.full_name} VALUES (77, 'x', 1)"))[1]
    with pytest.raises(Overwritten, match=r"overwrote snapshot 3 of by_stock\.orders right after"):
        inserts.apply(context, inserts.plan(context, TABLE, {}), lambda line: None)
    assert keys(context) == [1, 2, 3]

    third = Path(context.files.uri) / TABLE.root().snapshot(3)
    third.unlink()
    third.with_name("LATEST").write_text("2")
    with pytest.raises(Overwritten, match=r"overwrote snapshot 3 of by_stock\.orders right after"):
        done(context, "rollback", table=TABLE, to="snapshot.1")
    assert keys(context) == [1, 2, 3]
    # It is as it was: no journal, and no savepoint of a change that was not made.
    assert planned(context, "recover", table=TABLE).empty
    assert SavepointManager(context.files, TABLE).all() == []
