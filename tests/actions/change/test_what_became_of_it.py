"""`recover` says what became of an interrupted change: the same in its plan, in its result and in the log."""

from __future__ import annotations

import re
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
from tests.wording import about

MAIN = ORDERS.root()
# What the plan to recover tells of what is not brought about, and what is told afterwards.
Said = tuple[tuple[str, ...], tuple[str, ...]]


def dies_deleting(warehouse: Path, pattern: str, **arguments: object) -> None:
    """A truncation dies right after it deleted such a file."""
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), pattern, writes="delete"))
    with pytest.raises(Death):
        done(dying, "rollback", to="snapshot.2", truncate=True)


def an_archive(context: Context) -> str:
    [name] = branch_names(context.files, ORDERS)
    return name


def truncation_beside_a_commit(context: Context, warehouse: Path) -> Said:
    dies_deleting(warehouse, r"orders/snapshot/snapshot-5$")
    add(context, "shop.orders", 901)
    return (
        ("main", "snapshot 4", "2", "somebody"),
        ("main", "shop.orders", "snapshot 4", "somebody", f"branch {an_archive(context)}"),
    )


def truncation_that_came_too_late(context: Context, warehouse: Path) -> Said:
    died(warehouse, r"STEP-\w+-2$", "rollback", to="snapshot.2", truncate=True)
    add(context, "shop.orders", 901)
    return ("main", "stays", "somebody"), ("main", "shop.orders", "somebody")


def truncation(context: Context, warehouse: Path) -> Said:
    dies_deleting(warehouse, r"orders/snapshot/snapshot-5$")
    archive = f"branch {an_archive(context)}"
    return ("nothing", archive, "snapshot 2"), ("main", "shop.orders", "snapshot 2", archive)


def truncation_that_had_not_begun(context: Context, warehouse: Path) -> Said:
    died(warehouse, r"tag-paimark\.truncate", "rollback", to="snapshot.2", truncate=True)
    return ("nothing", "not committed"), ("rollback", "not committed", "taken back")


def undo_of_a_truncation_beside_a_commit(context: Context, warehouse: Path) -> Said:
    done(context, "rollback", to="snapshot.2", truncate=True)
    died(warehouse, r"orders/snapshot/snapshot-3$", "undo")
    add(context, "shop.orders", 901)
    [entry] = [each for each in read_operations(context.files, ORDERS) if each.action == "rollback"]
    assert entry.edits is not None
    part = ("main", "3", "somebody*")
    return part, (*part, entry.description, "shop.orders", "in part")


def fast_forward_beside_a_commit(context: Context, warehouse: Path) -> Said:
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    for number in (100, 101, 102):
        add(context, "shop.orders$branch_fix", number)
    died(warehouse, r"orders/snapshot/snapshot-6$", "merge-branch", name="fix")
    add(context, "shop.orders", 901)
    part = ("branch fix", "main", "snapshot 6", "somebody", "merge again")
    return part, ("merged", "shop.orders", *part)


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
def test_it_says_what_is_so(context: Context, warehouse: Path, dies: Callable[[Context, Path], Said]) -> None:
    will, became = dies(context, warehouse)
    plan = planned(context, "recover")
    [told] = texts(plan, "not", "loses", "unknown")
    assert about(*will).search(told)
    logged = len(read_operations(context.files, ORDERS))
    message = done(context, "recover").message
    assert about(*became).search(message)
    named = {each for each in became if each.startswith(("snapshot ", "branch "))}
    assert {*re.findall(r"snapshot \d+|branch [\w-]+", message)} == named
    new = read_operations(context.files, ORDERS)[logged:]
    assert [each.summary for each in new if capitalised(each.summary) not in message] == []
    assert len(new) == ("taken back" not in became)


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
