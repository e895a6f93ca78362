"""A truncation or its undo dies, an engine deletes the archive branch, and only then somebody recovers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge import history
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.operations import read_operations
from paimark.core.table.records import point_of
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, done, planned, undoable
from tests.actions.taking_over import add, main_rows
from tests.actions.test_late_recovery import died
from tests.wording import about

MAIN = ORDERS.root()


def delete_archive(context: Context, orders: Path) -> None:
    [archive] = branch_names(context.files, ORDERS)
    shutil.rmtree(orders / f"branch/branch-{archive}")


def record_merge(context: Context, number: int) -> None:
    """Record that main's snapshot of this id merged a branch."""
    at = point_of(Lineage(context.files, MAIN).snapshot(number))
    history.record(context.files, ORDERS, history.MergeEvent(kind="merge", main=at, branch="b", head=at))


@pytest.mark.parametrize(
    ("at", "newest"), [(r"STEP-\w+-2$", 5), (r"orders/snapshot/LATEST$", 5), (r"orders/snapshot/LATEST$", 4)]
)
def test_main_keeps_what_it_has_of_a_truncation_whose_archive_is_gone(
    context: Context, warehouse: Path, orders: Path, at: str, newest: int
) -> None:
    for number in (4, 5):
        record_merge(context, number)
    died(warehouse, at, "rollback", to="snapshot.3", truncate=True)
    if newest == 4:
        (orders / "snapshot/snapshot-5").unlink()
    delete_archive(context, orders)
    done(context, "recover")
    lineage = Lineage(context.files, MAIN)
    assert lineage.snapshot_ids() == [*range(1, newest + 1)] and lineage.latest_id() == newest
    assert (orders / "snapshot/LATEST").read_text() == str(newest)
    of_main = [each.main.id for each in history.events(context.files, ORDERS) if each.root is None]
    assert of_main == [*range(4, newest + 1)]
    assert undoable(context) == [] and branch_names(context.files, ORDERS) == []
    summary = read_operations(context.files, ORDERS)[-1].summary
    assert about("main", "shop.orders", f"snapshot {newest}", "another engine", "branch").search(summary)
    assert planned(context, "recover").empty and verify(context, ORDERS).problems == ()
    add(context, "shop.orders", 900)
    assert 900 in {row["order_id"] for row in main_rows(context)}


@pytest.mark.parametrize("at", [r"orders/snapshot/snapshot-4$", r"orders/snapshot/snapshot-5$"])
def test_main_keeps_what_came_back_from_an_archive_that_is_gone(
    context: Context, warehouse: Path, orders: Path, at: str
) -> None:
    record_merge(context, 4)
    done(context, "rollback", to="snapshot.3", truncate=True)
    died(warehouse, at, "undo")
    delete_archive(context, orders)
    done(context, "recover")
    lineage = Lineage(context.files, MAIN)
    assert lineage.latest_id() == int(at[-2])
    assert [each.main.id for each in history.events(context.files, ORDERS) if each.root is None] == [4]
    assert undoable(context) == []
    assert planned(context, "recover").empty and verify(context, ORDERS).problems == ()
