"""Whether an INSERT's rows are there is told rightly, whatever the engine said at the end and came since."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Outcome
from paimark.core.errors import Cancelled, Refused, StatementFailed, Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import CANCELLED, Event, Failed, Finished, Task, TaskResult
from paimark.core.statements.insert import action_of_insert
from paimark.core.statements.row_change import action_of_change
from paimark.core.storage.late_requests import LateRequests
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on, done
from tests.conftest import ORDERS
from tests.paimon import commit, read_rows
from tests.spark.written_tables import lineage_of
from tests.wording import about

TABLE = TablePath("fates", "orders")
SQL = "INSERT INTO fates.orders VALUES (77, 'x', 1)"
DIED = Failed("The Spark engine died (killed by SIGKILL)", cause="engine")


@dataclass
class Dying:
    """An engine that does what it is told, and ends before it can say so. `since`: what comes before that.

    `end` is its last word; without one, the person at the terminal interrupts.
    """

    engine: Engine
    since: Callable[[], None]
    end: Failed | None

    def do(self, task: Task) -> Generator[Event]:
        for event in self.engine.do(task):
            if isinstance(event, Finished):
                self.since()
                if self.end is None:
                    raise KeyboardInterrupt
                yield self.end
                return
            if not isinstance(event, TaskResult):
                yield event


@pytest.fixture
def warehouse(engine_warehouse: Path) -> Path:
    shutil.rmtree(engine_warehouse / "fates.db", ignore_errors=True)
    shutil.copytree(engine_warehouse / "shop.db" / "orders", engine_warehouse / "fates.db" / "orders")
    return engine_warehouse


def inserted(
    warehouse: Path,
    tmp_path: Path,
    engine: Engine,
    since: Callable[[], None],
    late_for: float = 0,
    *,
    end: Failed | None = DIED,
    progress: Progress = lambda line: None,
) -> Outcome:
    dying = cast(Engine, Dying(engine, since, end))
    context: Context = replace(
        context_on(warehouse),
        audit_path=tmp_path / "audit",
        engine=lambda: dying,
        late=LateRequests(late_for),
    )
    inserts = action_of_insert(read_statement(SQL))[1]
    return inserts.apply(context, inserts.plan(context, TABLE, {}), progress)


def others_commit(warehouse: Path, count: int) -> None:
    for number in range(count):
        rows = {"order_id": [1000 + number], "customer": ["o"], "price": [1.0]}
        commit(warehouse, TABLE.full_name, pa.table(rows, schema=ORDERS))


def test_it_landed_and_many_came_after_it(engine: Engine, warehouse: Path, tmp_path: Path) -> None:
    outcome = inserted(warehouse, tmp_path, engine, lambda: others_commit(warehouse, 40))
    assert outcome.result == {"snapshot_id": 6, "row_count": None}
    assert 77 in {row["order_id"] for row in read_rows(warehouse, TABLE.full_name)}


def test_it_landed_and_has_expired(engine: Engine, warehouse: Path, tmp_path: Path) -> None:
    def since() -> None:
        others_commit(warehouse, 2)
        done(context_on(warehouse), "expire-snapshots", table=TABLE, retain_last=1)

    with pytest.raises(Unavailable) as raised:
        inserted(warehouse, tmp_path, engine, since)
    told = ("fates.orders", "snapshots 6 to 7", "expired", DIED.message)
    assert about("known", *told).search(raised.value.message)
    assert about("rows", "again").search(raised.value.hint)
    assert 77 in {row["order_id"] for row in read_rows(warehouse, TABLE.full_name)}


@pytest.mark.parametrize("end", [DIED, Failed(DIED.message, cause="cancelled", was_killed=True)])
def test_it_may_still_land_where_a_store_carries_out_late(
    engine: Engine, warehouse: Path, tmp_path: Path, end: Failed
) -> None:
    """Run again at once, and carried out then, the rows would be there twice."""
    snapshot = warehouse / TABLE.root().snapshot(6)
    with pytest.raises(Unavailable) as raised:
        inserted(warehouse, tmp_path, engine, snapshot.unlink, late_for=960, end=end)
    told = ("not in fates.orders", "store", "killed by SIGKILL")
    assert about(*told).search(raised.value.message)
    assert about("16 min", "again").search(raised.value.hint)


def test_who_cancels_it_learns_that_nothing_was_committed(
    engine: Engine, warehouse: Path, tmp_path: Path
) -> None:
    snapshot = warehouse / TABLE.root().snapshot(6)
    with pytest.raises(Cancelled) as raised:
        inserted(warehouse, tmp_path, engine, snapshot.unlink, end=CANCELLED)
    assert (raised.value.message, raised.value.hint) == (CANCELLED.message, "Nothing was committed.")


@pytest.mark.parametrize(
    ("is_there", "late_for", "end"),
    [
        (True, 0, ("committed", "snapshot 6", "fates.orders")),
        (False, 0, ("nothing", "fates.orders")),
        (
            False,
            960,
            ("rows of fates.orders", "again"),
        ),
    ],
)
def test_who_interrupts_it_learns_whether_it_was_committed(
    engine: Engine, warehouse: Path, tmp_path: Path, is_there: bool, late_for: float, end: tuple[str, ...]
) -> None:
    snapshot = warehouse / TABLE.root().snapshot(6)
    lines: list[str] = []
    since = (lambda: None) if is_there else snapshot.unlink
    with pytest.raises(KeyboardInterrupt):
        inserted(warehouse, tmp_path, engine, since, late_for, end=None, progress=lines.append)
    assert about("interrupted", *end).search(lines[-1])


def test_it_landed_and_a_tag_kept_it(engine: Engine, warehouse: Path, tmp_path: Path) -> None:
    def since() -> None:
        done(context_on(warehouse), "create-tag", table=TABLE, name="kept", snapshot=6)
        others_commit(warehouse, 2)
        done(context_on(warehouse), "expire-snapshots", table=TABLE, retain_last=1)

    assert inserted(warehouse, tmp_path, engine, since).result["snapshot_id"] == 6


def test_rows_go_to_the_main_that_the_plan_saw(engine: Engine, warehouse: Path, tmp_path: Path) -> None:
    """Else another branch would get them, and nobody would look for them there."""
    context = context_on(warehouse)
    done(context, "create-branch", table=TABLE, name="next", tag="v2")

    @dataclass
    class Repointing:
        def do(self, task: Task) -> Generator[Event]:
            done(context, "replace-main-branch", table=TABLE, name="next")
            yield from engine.do(task)

    inserts = action_of_insert(read_statement(SQL))[1]
    with_engine = replace(context, audit_path=tmp_path / "audit", engine=lambda: cast(Engine, Repointing()))
    with pytest.raises(StatementFailed, match=r"Another branch of fates\.orders became main since"):
        inserts.apply(with_engine, inserts.plan(context, TABLE, {}), lambda line: None)
    assert lineage_of(warehouse, TABLE.full_name, "next").latest_id() == 2


@pytest.mark.parametrize(
    "sql", [SQL, f"DELETE FROM {TABLE.full_name} WHERE order_id = 1"], ids=["insert", "delete"]
)
def test_another_main_since_the_plan_is_told(warehouse: Path, tmp_path: Path, sql: str) -> None:
    context = replace(context_on(warehouse), audit_path=tmp_path / "audit", counts=False)
    done(context, "create-branch", table=TABLE, name="next", tag="v2")
    statement = read_statement(sql)
    writes = (action_of_insert if statement.kind == "insert" else action_of_change)(statement)[1]
    plan = writes.plan(context, TABLE, {})
    done(context, "replace-main-branch", table=TABLE, name="next")
    with pytest.raises(Refused, match=r"Another branch of fates\.orders became main since"):
        writes.apply(context, plan, lambda line: None)
    assert lineage_of(warehouse, TABLE.full_name, "next").latest_id() == 2
