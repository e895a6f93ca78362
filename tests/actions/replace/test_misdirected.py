"""A process stands still right before its point of no return, or before it writes the main-branch file.

It is recovered meanwhile, and goes on then.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.change import driver, journal
from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, contents, context_on, done, planned, texts
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.cli.command import Paimark
from tests.faults.fault_files import Death
from tests.storage.wrapped import Wrapped
from tests.wording import about


class StandsStill(Wrapped):
    """A store on which a process stands still once, right before a write: something is done meanwhile."""

    def __init__(self, inner: Files, is_here: Callable[[str, bytes], bool], deed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._is_here = is_here
        self._deeds = [deed]

    def create(self, path: str, data: bytes) -> bool:
        self._look(path, data)
        return self.inner.create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self._look(path, data)
        self.inner.replace(path, data)

    def move(self, directory: str, to: str) -> None:
        self._look(to, b"")
        self.inner.move(directory, to)

    def _look(self, path: str, data: bytes) -> None:
        if self._deeds and self._is_here(path, data):
            self._deeds.pop()()


def names_main(path: str, data: bytes) -> bool:
    return path == ORDERS.main_branch_file


def decides(path: str, data: bytes) -> bool:
    """The first of both writes without which there is no way back."""
    return names_main(path, data) or f'"{journal.COMMITTED}"'.encode() in data


def recovered(context: Context) -> None:
    """Another process takes the change over: it takes the living one for dead."""
    begun = journal.current(context, ORDERS)
    assert begun is not None
    driver.recover(journal.take_over(context, ORDERS, begun, journal.new_token()), lambda line: None)


def stood_still(context: Context, is_here: Callable[[str, bytes], bool], action: str, **given: Any) -> None:
    store = StandsStill(context.files, is_here, lambda: recovered(context))
    with pytest.raises(journal.TakenOver):
        done(context_on(Path(context.files.uri), store), action, **given)
    assert planned(context, "recover").empty and verify(context, ORDERS).problems == ()


def dies_before_it_names_main(context: Context) -> None:
    def dies() -> None:
        raise Death

    store = StandsStill(context.files, names_main, dies)
    with pytest.raises(Death):
        done(context_on(Path(context.files.uri), store), "replace-main-branch", name="fix")


@pytest.mark.parametrize("action", ["replace-main-branch", "undo"])
def test_who_was_taken_back_makes_nothing_main(context: Context, orders: Path, action: str) -> None:
    branched(context)
    if action == "undo":
        done(context, "replace-main-branch", name="fix")
    before, main, rows = contents(orders), main_branch_name(context.files, ORDERS), main_rows(context)
    stood_still(context, decides, action, **({} if action == "undo" else {"name": "fix"}))
    assert main_branch_name(context.files, ORDERS) == main and main_rows(context) == rows
    assert contents(orders) == before


@pytest.mark.parametrize("action", ["replace-main-branch", "undo"])
def test_who_was_finished_changes_nothing_more(context: Context, action: str) -> None:
    branched(context)
    old = main_rows(context)
    if action == "undo":
        done(context, "replace-main-branch", name="fix")
    stood_still(context, names_main, action, **({} if action == "undo" else {"name": "fix"}))
    assert main_branch_name(context.files, ORDERS) == (None if action == "undo" else "fix")
    if action == "replace-main-branch":
        done(context, "undo")
    assert main_rows(context) == old


def test_a_branch_that_is_gone_before_it_is_main_is_taken_back(context: Context, orders: Path) -> None:
    """Its process died between both writes: main was never another, and is not given up for nothing."""
    branched(context)
    rows = main_rows(context)
    dies_before_it_names_main(context)
    shutil.rmtree(orders / "branch/branch-fix")
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) is None and main_rows(context) == rows
    assert planned(context, "recover").empty and verify(context, ORDERS).problems == ()


def test_what_main_got_before_its_recovery_is_in_the_archive(context: Context) -> None:
    branched(context)
    dies_before_it_names_main(context)
    add(context, "shop.orders", 901)
    rows = main_rows(context)
    plan = planned(context, "recover")
    [late] = texts(plan, "not")
    assert about("fix", "main", "only now").search(late)
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) == "fix"
    done(context, "undo")
    assert main_rows(context) == rows


def wakes(context: Context, names: str) -> None:
    context.files.replace(ORDERS.main_branch_file, names.encode())


def test_main_is_the_table_directory_again(context: Context, orders: Path) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    done(context, "undo")
    before, rows = contents(orders), main_rows(context)
    wakes(context, "fix")
    plan = planned(context, "recover")
    assert about("branch fix", "named", "main", "went on").search(plan.headline)
    [stay] = texts(plan, "affects")
    assert about("commits", "main", "branch fix", "stay").search(stay)
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) is None and main_rows(context) == rows
    after = contents(orders)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert not {path for path in changed if "operations" not in path and "MAIN-BRANCH" not in path}
    assert verify(context, ORDERS).problems == () and planned(context, "recover").empty


def test_commits_and_tags_meanwhile_stay_and_close_nothing(context: Context) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    done(context, "undo")
    rows = main_rows(context)
    wakes(context, "fix")
    # An action repairs the guards of what it takes for main: the barrier would close the real one.
    done(context, "create-tag", name="meanwhile")
    add(context, "shop.orders$branch_fix", 901)
    done(context, "recover")
    assert main_rows(context) == rows
    assert 901 in {row["order_id"] for row in rows_of(context, ORDERS.root("fix"))}
    assert verify(context, ORDERS).problems == ()


def test_the_branch_is_main_again_after_a_late_undo(context: Context) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    rows = main_rows(context)
    done(context, "undo")
    done(context, "redo")
    wakes(context, "")
    done(context, "recover")
    assert main_branch_name(context.files, ORDERS) == "fix" and main_rows(context) == rows
    assert verify(context, ORDERS).problems == ()


def test_doctor_says_it(
    context: Context, warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    branched(context)
    wakes(context, "fix")
    ran = Paimark(capsys)("doctor", "shop.orders", "--warehouse", warehouse)
    assert about("branch fix", "named", "main", "went on").search(ran.out)
    assert "stray" not in ran.out and "guard" not in ran.out


# An overwrite starts Spark.
@pytest.mark.parametrize("layout", ["pointer", pytest.param("overwrite", marks=pytest.mark.long)])
def test_a_replacement_that_ended_is_none(context: Context, layout: str) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix", layout=layout)
    assert planned(context, "recover").empty
    done(context, "undo")
    assert planned(context, "recover").empty
