"""A rollback gives main its old rows as one new commit, or changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.change import driver
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome, Plan
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.figures import minute
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import size_of
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, NoWrites, applied, codes, context_on, done, item
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, open_table, read_rows
from tests.spark.engine.test_reads import at
from tests.spark.engine_fixture import in_order
from tests.wording import about


def own_table(warehouse: Path, database: str) -> TablePath:
    shutil.copytree(warehouse / "shop.db" / "orders", warehouse / f"{database}.db" / "orders")
    return TablePath(database, "orders")


def rolled_back(context: Context, table: TablePath, to: str) -> Outcome:
    return applied(context, action("rollback").plan(context, table, {"to": to}))


def one_row(order_id: int) -> pa.Table:
    return pa.table({"order_id": [order_id], "customer": ["x"], "price": [1.0]}, schema=ORDERS_SCHEMA)


def planned(context: Context, to: str) -> Plan:
    return action("rollback").plan(context, ORDERS, {"to": to})


def refusals(context: Context, to: str) -> str:
    return " | ".join(each.reason for each in planned(context, to).refusals)


def test_the_plan_says_what_will_be_rewritten_and_writes_nothing(warehouse: Path, context: Context) -> None:
    watched = context_on(warehouse, NoWrites(context.files))
    plan = planned(watched, "v2")
    second = Lineage(context.files, ORDERS.root()).snapshot(2)
    at = f"(snapshot 2, {minute(second.time_millis)})"
    assert about("main", "shop.orders", "rows", f"v2 {at}").search(plan.headline)
    assert plan.refusals == ()
    assert codes(plan) == ["commits-leave-main", "streaming-readers"]
    assert (item(plan, "commits-leave-main").count, plan.ask.kind) == (3, "type")
    assert about("newest rows").search(item(plan, "commits-leave-main").text)
    copy = plan.steps[1]
    assert (copy.verb, copy.detail) == ("copy", "8 records, through Spark")
    files = size_of(context.files, ORDERS, Lineage(context.files, ORDERS.root()).snapshot(2))
    assert copy.size == files[1] > 0
    assert plan.undo == "paimark undo shop.orders"
    assert about("main", "new commit").search(plan.until)
    assert planned(context, "snapshot.5").empty


def test_a_version_is_a_snapshot_a_tag_a_savepoint_or_a_time(context: Context) -> None:
    lineage = Lineage(context.files, ORDERS.root())
    third = datetime.fromtimestamp(lineage.snapshot(3).time_millis / 1000)
    done(context, "create-savepoint", snapshot=4)
    summaries = {
        to: planned(context, to).arguments["snapshot"] for to in ("2", "snapshot.3", "v2", "savepoint.1")
    }
    assert summaries == {"2": 2, "snapshot.3": 3, "v2": 2, "savepoint.1": 4}
    assert planned(context, third.isoformat(sep=" ", timespec="milliseconds")).arguments["snapshot"] == 3
    with pytest.raises(NotFound):
        planned(context, "2020-01-01 00:00")
    with pytest.raises(UsageError):
        planned(context, "2026-05-99")
    with pytest.raises(NotFound):
        planned(context, "nothing")


def altered(orders: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A newer schema, and a commit by it."""
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    change(schema)
    (orders / "schema/schema-1").write_bytes(msgspec.json.encode({**schema, "id": 1}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda schema: schema["fields"].pop(), "column price is new"),
        (lambda schema: schema["fields"][2].update(type="FLOAT"), "column price becomes DOUBLE"),
    ],
)
def test_a_column_that_main_lost_comes_back(
    context: Context, orders: Path, change: Callable[[dict[str, Any]], None], words: str
) -> None:
    altered(orders, change)
    plan = planned(context, "v2")
    assert plan.refusals == () and item(plan, "columns").text == f"readers of main's columns: {words}"
    assert any(step.target == "shop.db/orders/schema/schema-2" for step in plan.steps)


@pytest.mark.parametrize(
    ("now", "is_refused"), [("STRING", True), ("DOUBLE NOT NULL", False), ("DOUBLE", False)]
)
def test_a_column_that_can_not_hold_its_old_values_is_refused(
    context: Context, orders: Path, now: str, is_refused: bool
) -> None:
    altered(orders, lambda schema: schema["fields"][2].update(type=now))
    refused = about("column price", "DOUBLE", now, "values").search(refusals(context, "v2"))
    assert bool(refused) == is_refused


def test_a_column_whose_name_another_has_now_is_refused(context: Context, orders: Path) -> None:
    altered(orders, lambda schema: schema["fields"][2].update(id=7) or schema.update(highestFieldId=7))
    assert about("shop.orders", "dropped", "column price", "another", "name").search(refusals(context, "v2"))


@pytest.mark.parametrize(
    ("option", "value"), [("deletion-vectors.enabled", "true"), ("merge-engine", "first-row")]
)
def test_what_a_rewriting_would_lose_is_refused(
    context: Context, orders: Path, option: str, value: str
) -> None:
    """Readers of such tables leave out files that are not compacted."""
    altered(orders, lambda schema: schema["options"].update({option: value}))
    assert about("rows", "nobody", "compacted").search(refusals(context, "v2"))


def test_nothing_is_changed_in_read_only_mode_or_when_main_moved(context: Context, warehouse: Path) -> None:
    plan = planned(context_on(warehouse, read_only=True), "v2")
    assert "read-only" in plan.refusals[0].reason
    ran = planned(context, "v2")
    done(context, "alter-branch-schema", nullable="price", add="note STRING")
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        driver.apply(context, ran, lambda line: None)
    assert Lineage(context.files, ORDERS.root()).latest_id() == 5
    assert SavepointManager(context.files, ORDERS).ids() == []


def test_rows_go_back_and_forth_and_nothing_is_lost(with_engine: Context, engine_warehouse: Path) -> None:
    table, name = own_table(engine_warehouse, "rolled"), "rolled.orders"
    before, then = read_rows(engine_warehouse, name), at(engine_warehouse, name, 2)
    outcome = rolled_back(with_engine, table, "v2")
    assert outcome.result == {"snapshot_id": 6, "rolled_back_to": 2, "savepoint_id": 1}
    assert in_order(read_rows(engine_warehouse, name)) == in_order(then)
    assert SavepointManager(with_engine.files, table).savepoint(1).created_by == "safety"
    assert outcome.undo == "paimark undo rolled.orders"
    assert sorted(with_engine.files.names("rolled.db/orders/branch")) == ["merges", "operations"]
    back = rolled_back(with_engine, table, "savepoint.1")
    assert in_order(read_rows(engine_warehouse, name)) == in_order(before)
    assert back.result["snapshot_id"] == 7
    assert in_order(at(engine_warehouse, name, 6)) == in_order(then)


def test_what_a_job_commits_meanwhile_goes_too_and_is_kept(
    with_engine: Context, engine: Engine, engine_warehouse: Path
) -> None:
    table, name = own_table(engine_warehouse, "rolled_raced"), "rolled_raced.orders"
    before, then = at(engine_warehouse, name, 5), at(engine_warehouse, name, 2)
    commits = iter([98, 99])

    def racing() -> Engine:
        for number in commits:
            commit(engine_warehouse, name, one_row(number))
        return engine

    outcome = rolled_back(replace(with_engine, engine=racing), table, "v2")

    # Its rows were written once. A savepoint keeps main right before: that of the beginning has gone.
    assert outcome.result == {"snapshot_id": 8, "rolled_back_to": 2, "savepoint_id": 2}
    too, saved = outcome.items
    assert about("2 commits", "plan", "newest rows", "savepoint").search(too.text)
    assert about("main", "savepoint 2").search(saved.text)
    assert in_order(read_rows(engine_warehouse, name)) == in_order(then)
    [kept] = SavepointManager(with_engine.files, table).all()
    assert (kept.id, kept.saved_snapshot_id) == (2, 7)
    assert not Lineage(with_engine.files, table.root()).has_tag("savepoint.1")
    assert with_engine.files.names("rolled_raced.db/orders/consumer") == []
    done(with_engine, "undo", table=table)
    rows = read_rows(engine_warehouse, name)
    assert in_order([each for each in rows if each["order_id"] < 98]) == in_order(before)
    assert {each["order_id"] for each in rows} >= {98, 99}


def test_a_definition_that_others_changed_meanwhile_is_not_overtaken(
    with_engine: Context, engine: Engine, engine_warehouse: Path
) -> None:
    table = own_table(engine_warehouse, "rolled_altered")

    def racing() -> Engine:
        schemas = engine_warehouse / "rolled_altered.db" / "orders" / "schema"
        newest = json.loads((schemas / "schema-0").read_text())
        (schemas / "schema-1").write_text(json.dumps({**newest, "id": 1}))
        return engine

    with pytest.raises(Refused, match=r"definition of rolled_altered\.orders changed while"):
        rolled_back(replace(with_engine, engine=racing), table, "v2")
    assert SavepointManager(with_engine.files, table).ids() == []


def test_main_that_is_a_branch_is_rolled_back_there(with_engine: Context, engine_warehouse: Path) -> None:
    table, name = own_table(engine_warehouse, "rolled_branch"), "rolled_branch.orders"
    open_table(engine_warehouse, name).branch_manager().create_branch("next", "v2")
    commit(engine_warehouse, f"{name}$branch_next", one_row(2))
    (engine_warehouse / "rolled_branch.db/orders/branch/MAIN-BRANCH").write_text("next")
    rolled_back(with_engine, table, "v2")
    rows = read_rows(engine_warehouse, f"{name}$branch_next")
    assert in_order(rows) == in_order(at(engine_warehouse, name, 2))
    assert Lineage(with_engine.files, table.root()).latest_id() == 5
