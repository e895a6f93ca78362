"""For stock Paimon, main with the rows of a branch or of an earlier version is an ordinary table."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa

from paimark.core.actions.context import Context
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, done, planned
from tests.conftest import ORDERS
from tests.interop.judge import Judge, comparable
from tests.paimon import commit


def test_a_branch_replaces_the_rows_of_main_and_back(
    context: Context, engine_warehouse: Path, judge: Judge
) -> None:
    shutil.copytree(engine_warehouse / "shop.db" / "orders", engine_warehouse / "replaced.db" / "orders")
    table = TablePath("replaced", "orders")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"
    done(context, "create-branch", table=table, name="fix", tag="v2")
    for where, key in ((fix, 50), (name, 60)):
        row = {"order_id": [key], "customer": ["x"], "price": [1.0]}
        commit(engine_warehouse, where, pa.table(row, schema=ORDERS))
    before, wanted = judge.read(engine_warehouse, name), judge.read(engine_warehouse, fix)
    plan = planned(context, "replace-main-branch", table=table, name="fix", layout="overwrite")
    assert plan.refusals == ()
    outcome = applied(context, plan)
    assert outcome.result["snapshot_id"] == 7
    assert outcome.undo == "paimark undo replaced.orders"
    assert judge.read(engine_warehouse, name) == judge.read(engine_warehouse, fix) == wanted
    assert planned(context, "merge-branch", table=table, name="fix").empty
    for each in (name, fix):
        judge.compact(engine_warehouse, each)
    judge.expire(engine_warehouse, name)
    for each in (name, fix):
        judge.clean_orphans(engine_warehouse, each)
    assert judge.read(engine_warehouse, name) == judge.read(engine_warehouse, fix) == wanted
    assert judge.read(engine_warehouse, name, tag="savepoint.1") == before
    done(context, "rollback", table=table, to="savepoint.1")
    assert judge.read(engine_warehouse, name) == before
    judge.write(engine_warehouse, name, [{"order_id": 60, "customer": "stock", "price": 2.0}])
    changed = [{**row, "customer": "stock", "price": 2.0} if row["order_id"] == 60 else row for row in before]
    assert judge.read(engine_warehouse, name) == comparable(changed)
