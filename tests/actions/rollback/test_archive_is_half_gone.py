"""A truncation or its undo dies, and an engine dies while it deletes the archive branch."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import PaimarkError
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, done, planned
from tests.actions.taking_over import add, main_rows
from tests.actions.test_late_recovery import died, expired

MAIN = ORDERS.root()


def _only_tags(archive: Path) -> None:
    shutil.rmtree(archive / "schema")
    shutil.rmtree(archive / "snapshot")


# What is left of the branch.
LEFT: dict[str, Callable[[Path], object]] = {
    "no snapshot": lambda archive: shutil.rmtree(archive / "snapshot"),
    "no schema": lambda archive: shutil.rmtree(archive / "schema"),
    "tags": _only_tags,
    "not the first": lambda archive: (archive / "snapshot/snapshot-3").unlink(),
    "not the newest": lambda archive: (archive / "snapshot/snapshot-5").unlink(),
    "a hole": lambda archive: (archive / "snapshot/snapshot-4").unlink(),
    "no hint": lambda archive: (archive / "snapshot/LATEST").unlink(),
}


def half_delete_archive(context: Context, orders: Path, how: str) -> None:
    [archive] = branch_names(context.files, ORDERS)
    LEFT[how](orders / f"branch/branch-{archive}")


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("at", [r"STEP-\w+-2$", r"orders/snapshot/LATEST$"])
@pytest.mark.parametrize("goes_on", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_truncation_is_recovered(
    context: Context, warehouse: Path, orders: Path, how: str, at: str, goes_on: bool
) -> None:
    died(warehouse, at, "rollback", to="snapshot.3", truncate=True)
    half_delete_archive(context, orders, how)
    if goes_on:
        add(context, "shop.orders", 800)
        expired(orders, 1, 2, 3)
    done(context, "recover")
    assert planned(context, "recover").empty
    lineage = Lineage(context.files, MAIN)
    ids = lineage.snapshot_ids()
    assert lineage.latest_id() == ids[-1] and ids == [*range(ids[0], ids[-1] + 1)]
    add(context, "shop.orders", 900)
    assert 900 in {row["order_id"] for row in main_rows(context)}
    assert not [
        each for each in verify(context, ORDERS).problems if "branch-main-" not in each.path + each.detail
    ]


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize(
    "at", [r"STEP-\w+-2$", r"orders/snapshot/snapshot-4$", r"orders/snapshot/snapshot-5$"]
)
def test_an_undo_of_it_is_recovered(
    context: Context, warehouse: Path, orders: Path, how: str, at: str
) -> None:
    done(context, "rollback", to="snapshot.3", truncate=True)
    died(warehouse, at, "undo")
    half_delete_archive(context, orders, how)
    done(context, "recover")
    assert planned(context, "recover").empty
    lineage = Lineage(context.files, MAIN)
    ids = lineage.snapshot_ids()
    assert lineage.latest_id() == ids[-1] and ids == [*range(ids[0], ids[-1] + 1)]
    add(context, "shop.orders", 900)
    assert not [
        each for each in verify(context, ORDERS).problems if "branch-main-" not in each.path + each.detail
    ]


@pytest.mark.parametrize("how", LEFT)
def test_an_undo_is_refused_or_whole(context: Context, orders: Path, how: str) -> None:
    done(context, "rollback", to="snapshot.3", truncate=True)
    half_delete_archive(context, orders, how)
    try:
        refused = bool(planned(context, "undo").refusals)
        if not refused:
            done(context, "undo")
    except PaimarkError:
        refused = True
    newest = Lineage(context.files, MAIN).latest_id()
    assert newest == (3 if refused else 5)
