"""A merge that only adds rows writes them once, though main goes on: it commits on the newest state."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Repair, Task, Write
from paimark.core.table.layout import TablePath
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import applied, done, planned
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, read_rows

TABLE = TablePath("goes_on", "orders")


@dataclass
class Beside:
    """An engine; whenever it is to write rows, somebody else does something first."""

    engine: Engine
    deed: Callable[[], None] = lambda: None
    writes: list[Write | Repair] = field(default_factory=list)

    def do(self, task: Task) -> Generator[Event]:
        if isinstance(task, Write | Repair):
            self.writes.append(task)
            self.deed()
        yield from self.engine.do(task)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


@pytest.fixture
def beside(with_engine: Context) -> Beside:
    assert with_engine.engine is not None
    return Beside(with_engine.engine())


@pytest.fixture
def context(with_engine: Context, beside: Beside, engine_warehouse: Path) -> Context:
    """On a table with branch `fix`: both sides have a commit since the fork."""
    context = replace(with_engine, engine=lambda: cast(Engine, beside))
    create_table(engine_warehouse, TABLE.full_name, ORDERS)
    add(context, 1)
    done(context, "create-tag", table=TABLE, name="fork")
    done(context, "create-branch", table=TABLE, name="fix", tag="fork")
    add(context, 2, "$branch_fix")
    add(context, 3)
    return context


def add(context: Context, order_id: int, where: str = "") -> None:
    rows = {"order_id": [order_id], "customer": ["c"], "price": [1.0]}
    commit(context.files.uri, f"{TABLE.full_name}{where}", pa.table(rows, schema=ORDERS))


def keys(context: Context) -> list[int]:
    return sorted(row["order_id"] for row in read_rows(Path(context.files.uri), TABLE.full_name))


def test_rows_are_written_once_while_others_commit(context: Context, beside: Beside) -> None:
    others = iter(range(10, 100))

    def commit_two() -> None:
        for _ in range(2):
            add(context, next(others))

    beside.deed = commit_two
    outcome = applied(context, planned(context, "merge-branch", table=TABLE, name="fix"))
    assert len(beside.writes) == 1 and outcome.result["snapshot_id"] == 5
    assert keys(context) == [1, 2, 3, 10, 11]
    # What it keeps, and goes back to, is main right before the commit.
    [safe] = SavepointManager(context.files, TABLE).all()
    assert (safe.id, safe.saved_snapshot_id) == (outcome.result["savepoint_id"], 4)
    beside.deed = lambda: None
    done(context, "undo", table=TABLE)
    assert keys(context) == [1, 3, 10, 11]
    assert planned(context, "recover", table=TABLE).empty
