"""A savepoint that is being made may still be taken back: nobody counts on it, and it leaves no orphans."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.actions.roots.savepoint_claim import forget_savepoint
from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.files import Files
from paimark.core.table.savepoints import SavepointManager
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, context_on, done, planned, replace_rows
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import open_table, read_rows
from tests.storage.wrapped import Wrapped
from tests.wording import about


def saved(context: Context, snapshot: int, deed: Callable[[], object], *, ends: bool = False) -> None:
    """Make a savepoint; the deed happens during the proof's wait, and ctrl+c then if it `ends`."""
    plan = planned(context, "create-savepoint", snapshot=snapshot)

    def tell(line: str) -> None:
        if line.startswith("waiting"):
            deed()
            if ends:
                raise KeyboardInterrupt

    action(plan.action).apply(replace(context, verify_wait=0.001), plan, tell)


def tags(orders: Path) -> list[str]:
    return sorted(path.name.removeprefix("tag-") for path in orders.glob("tag/*"))


def test_no_tag_is_deleted_because_a_savepoint_is_being_made(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")

    def delete() -> None:
        with pytest.raises(Refused, match=about("branch fix", "made", "tag v2")):
            done(context, "delete-tag", name="v2")

    with pytest.raises(KeyboardInterrupt):
        saved(context, 2, delete, ends=True)
    assert tags(orders) == ["v2"]
    saved(context, 2, delete)
    # From now on the savepoint keeps what the branch needs.
    done(context, "delete-tag", name="v2")


def test_no_pin_is_released_because_a_savepoint_is_being_made(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=2, retain="1 d")
    done(context, "create-branch", name="fix", tag="short")
    done(context, "create-branch", name="two", tag="v2")
    done(context, "delete-tag", name="v2")
    with pytest.raises(KeyboardInterrupt):
        saved(context, 2, lambda: done(context, "delete-branch", name="fix"), ends=True)
    assert tags(orders) == ["paimark.merge.fix.2", "short"]


def test_ctrl_c_takes_it_back_while_its_snapshot_is_there(context: Context, orders: Path) -> None:
    before = contents(orders)
    with pytest.raises(KeyboardInterrupt):
        saved(context, 3, lambda: None, ends=True)
    assert contents(orders) == before


@pytest.mark.parametrize("is_over", [True, False])
def test_ctrl_c_leaves_it_to_recover_if_its_snapshot_expires_meanwhile(
    context: Context, warehouse: Path, orders: Path, is_over: bool
) -> None:
    replace_rows(warehouse)

    def expire() -> None:
        if is_over:
            done(context, "expire-snapshots", retain_last=1)
            return
        with pytest.raises(Death):
            # Its count is made: by it the savepoint keeps the files.
            dying = context_on(warehouse, DiesAfter(context.files, r"STEP-\w+-2"))
            done(dying, "expire-snapshots", retain_last=1)

    with pytest.raises(Unavailable, match=about("savepoint 1", "shop.orders", "half made", "stays")) as left:
        saved(context, 3, expire, ends=True)
    assert about("`paimark recover shop.orders`").search(left.value.hint)
    done(context, "recover")
    assert SavepointManager(context.files, ORDERS).ids() == [1]
    report = verify(context, ORDERS, older_than=0)
    assert (report.orphans, report.problems) == ((), ())
    assert planned(context, "recover").empty
    assert not (orders / "snapshot/snapshot-3").exists()


@pytest.mark.parametrize("when", ["before", "between"])
def test_a_safety_savepoint_stays_if_a_branch_was_made_of_its_tag(
    context: Context, warehouse: Path, orders: Path, when: str
) -> None:
    """By another engine, which knows no lock: before the savepoint is taken back, or just then."""

    def branch() -> None:
        open_table(warehouse, "shop.orders").branch_manager().create_branch("test", "savepoint.1")

    done(context, "create-savepoint")
    before = contents(orders)
    if when == "before":
        branch()
    files = (
        context.files if when == "before" else BeforeDeletion(context.files, "savepoint/savepoint-1", branch)
    )
    told: list[str] = []
    forget_savepoint(context_on(warehouse, files), ORDERS.root(), 1, told.append)
    [stays] = told
    assert about("savepoint 1", "shop.orders", "stays", "branch test").search(stays)
    assert {path: data for path, data in contents(orders).items() if "branch-test" not in path} == before

    expected = read_rows(warehouse, "shop.orders$branch_test")
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    assert read_rows(warehouse, "shop.orders$branch_test") == expected
    done(context, "delete-branch", name="test")
    done(context, "delete-savepoint", id=1)
    assert tags(orders) == ["v2"]


def test_a_tag_of_a_half_taken_back_savepoint_stays_for_a_branch(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-savepoint")
    open_table(warehouse, "shop.orders").branch_manager().create_branch("test", "savepoint.1")
    (orders / "savepoint/savepoint-1").unlink()
    told: list[str] = []
    forget_savepoint(context, ORDERS.root(), 1, told.append)
    [stays] = told
    assert about("tag savepoint.1", "shop.orders", "stays", "branch test").search(stays)
    assert tags(orders) == ["savepoint.1", "v2"]


def test_a_safety_savepoint_stays_for_a_branch_that_is_being_made(context: Context, orders: Path) -> None:
    """By another engine, which copies the tag first."""
    done(context, "create-savepoint")
    done(context, "create-branch", name="fix", tag="savepoint.1")
    for each in ("schema", "snapshot"):
        shutil.rmtree(orders / "branch/branch-fix" / each)
    forget_savepoint(context, ORDERS.root(), 1, lambda line: None)
    assert SavepointManager(context.files, ORDERS).ids() == [1] and tags(orders) == ["savepoint.1", "v2"]


def test_a_rollback_that_is_taken_back_leaves_its_savepoint_to_a_branch(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Another engine makes the branch while the rows are written, and ctrl+c ends the rollback."""

    def interrupt() -> None:
        open_table(warehouse, "shop.orders").branch_manager().create_branch("test", "savepoint.1")
        raise KeyboardInterrupt

    plan, told = planned(context, "rollback", to="snapshot.3"), list[str]()
    with pytest.raises(KeyboardInterrupt):
        applied(context_on(warehouse, Meanwhile(context.files, "-2", interrupt)), plan, told)
    assert any(map(about("savepoint 1", "shop.orders", "stays", "branch test").search, told))
    assert SavepointManager(context.files, ORDERS).ids() == [1] and tags(orders) == ["savepoint.1", "v2"]
    assert not (orders / "branch/ACTION").exists()


class BeforeDeletion(Wrapped):
    """A store on which somebody does something, once, right before a file is deleted."""

    def __init__(self, inner: Files, before: str, deed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._before = before
        self._deed = deed

    def delete(self, path: str) -> None:
        if path.endswith(self._before):
            self._deed()
        self.inner.delete(path)
