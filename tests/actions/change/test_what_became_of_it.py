"""`recover` says what became of an interrupted change: the same in its plan, in its result and in the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.operations import read_operations
from paimark.core.text import capitalised
from tests.actions.acting import ORDERS, context_on, done, planned, texts
from tests.actions.taking_over import add
from tests.actions.test_late_recovery import died
from tests.faults.fault_files import Death, DiesAfter

MAIN = ORDERS.root()


def dies_deleting(warehouse: Path, pattern: str, **arguments: object) -> None:
    """A truncation dies right after it deleted such a file."""
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), pattern, writes="delete"))
    with pytest.raises(Death):
        done(dying, "rollback", to="snapshot.2", truncate=True)


def an_archive(context: Context) -> str:
    [name] = branch_names(context.files, ORDERS)
    return name


def truncation_beside_a_commit(context: Context, warehouse: Path) -> tuple[str, str]:
    dies_deleting(warehouse, r"orders/snapshot/snapshot-5$")
    add(context, "shop.orders", 901)
    return (
        "main goes on from snapshot 4 instead of 2: somebody committed after snapshot 4 since",
        "Main of shop.orders ends at snapshot 4 again, for somebody committed on it just then; branch "
        f"{an_archive(context)} has the rest",
    )


def truncation_that_came_too_late(context: Context, warehouse: Path) -> tuple[str, str]:
    died(warehouse, r"STEP-\w+-2$", "rollback", to="snapshot.2", truncate=True)
    add(context, "shop.orders", 901)
    return (
        "main stays as it is: somebody committed to it since",
        "Somebody committed to main of shop.orders just then: it is as it was",
    )


def truncation(context: Context, warehouse: Path) -> tuple[str, str]:
    dies_deleting(warehouse, r"orders/snapshot/snapshot-5$")
    return (
        f"nothing: branch {an_archive(context)} has what came after snapshot 2",
        f"Main of shop.orders ends at snapshot 2 again; what came later is branch {an_archive(context)}",
    )


def truncation_that_had_not_begun(context: Context, warehouse: Path) -> tuple[str, str]:
    died(warehouse, r"tag-paimark\.truncate", "rollback", to="snapshot.2", truncate=True)
    return "nothing: it was not committed", "Rollback was not committed, and is taken back"


def undo_of_a_truncation_beside_a_commit(context: Context, warehouse: Path) -> tuple[str, str]:
    done(context, "rollback", to="snapshot.2", truncate=True)
    died(warehouse, r"orders/snapshot/snapshot-3$", "undo")
    add(context, "shop.orders", 901)
    [entry] = [each for each in read_operations(context.files, ORDERS) if each.action == "rollback"]
    assert entry.edits is not None
    part = "main has its later snapshots up to 3, and then somebody's own commit"
    return part, f"Took back {entry.description} of shop.orders only in part: {part}"


def fast_forward_beside_a_commit(context: Context, warehouse: Path) -> tuple[str, str]:
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    for number in (100, 101, 102):
        add(context, "shop.orders$branch_fix", number)
    died(warehouse, r"orders/snapshot/snapshot-6$", "merge-branch", name="fix")
    add(context, "shop.orders", 901)
    return (
        "main has branch fix up to snapshot 6 only: then somebody committed to main, so merge again",
        "Merged branch fix into main of shop.orders up to snapshot 6: then somebody committed to main, so "
        "merge again",
    )


@pytest.mark.parametrize(
    "dies",
    [
        truncation,
        truncation_beside_a_commit,
        truncation_that_came_too_late,
        truncation_that_had_not_begun,
        undo_of_a_truncation_beside_a_commit,
        fast_forward_beside_a_commit,
    ],
)
def test_it_says_what_is_so(
    context: Context, warehouse: Path, dies: Callable[[Context, Path], tuple[str, str]]
) -> None:
    will, became = dies(context, warehouse)
    plan = planned(context, "recover")
    assert texts(plan, "not", "loses", "unknown") == [will]
    logged = len(read_operations(context.files, ORDERS))
    assert done(context, "recover").message == f"shop.orders is whole again. {became}"
    new = read_operations(context.files, ORDERS)[logged:]
    assert [capitalised(each.summary) for each in new] in ([became], [])
    assert bool(new) != ("taken back" in became)


@pytest.mark.parametrize(("dies", "going"), [(truncation, [4, 3]), (truncation_beside_a_commit, [])])
def test_a_truncation_names_the_snapshots_that_go(
    context: Context, warehouse: Path, dies: Callable[[Context, Path], object], going: list[int]
) -> None:
    dies(context, warehouse)
    targets = [each.target for each in planned(context, "recover").steps]
    assert [each for each in targets if each.startswith(MAIN.snapshots)] == [*map(MAIN.snapshot, going)]
    before = Lineage(context.files, MAIN).snapshot_ids()
    done(context, "recover")
    assert {*before}.difference(Lineage(context.files, MAIN).snapshot_ids()) == {*going}
