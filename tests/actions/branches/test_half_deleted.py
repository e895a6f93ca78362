"""A stock engine died while it deleted a branch: what it left has no schema, and can be removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import NotFound
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, codes, done, planned, replace_rows, texts
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.actions.test_late_recovery import died
from tests.paimon import read_rows
from tests.wording import about

ACTION = "delete-branch"
LEFT = [("snapshot", "tag"), ("snapshot",), ("tag",)]


def half_deleted(orders: Path, left: tuple[str, ...]) -> None:
    for part in {"schema", "snapshot", "tag"}.difference(left):
        shutil.rmtree(orders / f"branch/branch-fix/{part}")


@pytest.mark.parametrize("left", LEFT)
def test_the_rest_is_removed_without_a_data_file(
    context: Context, orders: Path, left: tuple[str, ...]
) -> None:
    branched(context)
    half_deleted(orders, left)
    rows = main_rows(context)
    [refusal] = planned(context, ACTION, name="fix", keep=True).refusals
    assert about("branch fix", "shop.orders", "no schema", "keep").search(refusal.reason)
    plan = planned(context, ACTION, name="fix")
    assert (plan.refusals, plan.freed_files) == ((), 0)
    has_commits = any(orders.glob("branch/branch-fix/snapshot/snapshot-*"))
    assert codes(plan) == ["unread-commits"] * has_commits + ["final"]
    [kept] = texts(plan, "keeps")
    assert about("no schema", "data files", "stay").search(kept)
    done(context, ACTION, name="fix")
    assert branch_names(context.files, ORDERS) == [] and main_rows(context) == rows
    assert verify(context, ORDERS).problems == ()
    done(context, "create-branch", name="fix", tag="v2")


@pytest.mark.parametrize("left", LEFT)
def test_a_savepoint_that_it_alone_holds_goes_to_main(
    context: Context, warehouse: Path, orders: Path, left: tuple[str, ...]
) -> None:
    rows = rows_of(context, branched(context))
    done(context, "create-savepoint", branch="fix")
    half_deleted(orders, left)
    done(context, ACTION, name="fix")
    if "tag" not in left:
        done(context, "recover")
    assert sorted(read_rows(warehouse, "shop.orders", tag="savepoint.1"), key=str) == sorted(rows, key=str)
    assert verify(context, ORDERS).problems == ()


def test_a_savepoint_that_main_can_not_hold_is_named(context: Context, warehouse: Path, orders: Path) -> None:
    branched(context)
    replace_rows(warehouse, "$branch_fix")
    done(context, "create-savepoint", branch="fix")
    half_deleted(orders, ("tag",))
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("branch fix", "alone", "savepoint 1").search(refusal.reason)
    assert "(v2)" in refusal.hint


@pytest.mark.parametrize("at", [r"STEP-\w+-2$", r"STEP-\w+-3$"])
def test_a_deletion_that_died_is_finished_though_an_engine_deleted_half_meanwhile(
    context: Context, warehouse: Path, orders: Path, at: str
) -> None:
    branched(context)
    died(warehouse, at, ACTION, name="fix")
    shutil.rmtree(orders / "branch/branch-fix/schema")
    done(context, "recover")
    if at.endswith("2$"):
        done(context, ACTION, name="fix")
    assert branch_names(context.files, ORDERS) == [] and planned(context, "recover").empty
    assert verify(context, ORDERS).problems == ()


def test_what_can_not_be_opened_is_not_said_to_be_missing(context: Context, orders: Path) -> None:
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    half_deleted(orders, ("tag",))
    with pytest.raises(NotFound) as failed:
        planned(context, "merge-branch", name="fix")
    assert about("`paimark delete-branch shop.orders --name fix`").search(failed.value.hint)
    assert Lineage(context.files, ORDERS.root()).has_tag("v2")
