"""A branch, or main, that lost only its newest snapshot files is not taken for one that ends earlier."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.cli.checks.doctor import _root
from paimark.core.errors import Refused
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lost_newest import lost_newest, tags_beyond
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, applied, context_on, done, planned
from tests.actions.taking_over import add
from tests.paimon import open_table
from tests.storage.wrapped import Wrapped
from tests.wording import about

HINT = about("restore", "7 to 7", "backup", "write 6", "shop.db/orders/branch/branch-fix/snapshot/LATEST")


@pytest.fixture
def context(warehouse: Path) -> Context:
    """Branch `fix` has snapshots 6 and 7 of its own, main 6 to 8."""
    context = context_on(warehouse)
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    for number in (900, 901):
        add(context, "shop.orders$branch_fix", number)
    for number in (910, 911, 912):
        add(context, "shop.orders", number)
    return context


@pytest.fixture
def orders(warehouse: Path) -> Path:
    return warehouse / "shop.db/orders"


TAKING = [
    ("merge-branch", {"name": "fix"}),
    ("replace-main-branch", {"name": "fix"}),
    ("replace-main-branch", {"name": "fix", "layout": "overwrite"}),
]


@pytest.mark.parametrize(("name", "arguments"), TAKING)
def test_a_branch_that_lost_its_newest_snapshot_is_not_taken(
    context: Context, orders: Path, name: str, arguments: dict[str, str]
) -> None:
    (orders / "branch/branch-fix/snapshot/snapshot-7").unlink()
    lost = about("branch fix", "shop.orders", "lost", "LATEST names 7", "newest is 6")
    with pytest.raises(Refused, match=lost) as raised:
        done(context, name, ORDERS, **arguments)
    assert HINT.search(raised.value.hint)
    (orders / "branch/branch-fix/snapshot/LATEST").write_text("6")
    assert planned(context, name, ORDERS, **arguments).refusals == ()


def test_a_branch_that_loses_it_after_the_plan_is_not_taken(context: Context, orders: Path) -> None:
    plan = planned(context, "replace-main-branch", name="fix")
    (orders / "branch/branch-fix/snapshot/snapshot-7").unlink()
    with pytest.raises(Refused):
        applied(context, plan)
    assert main_root(context.files, ORDERS).branch is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [TAKING[0], TAKING[2], ("rollback", {"to": "v2"}), ("rollback", {"to": "v2", "truncate": True})],
)
def test_main_that_lost_its_newest_snapshots_gets_no_others_of_their_ids(
    context: Context, orders: Path, name: str, arguments: dict[str, str]
) -> None:
    for number in (6, 7, 8):
        (orders / f"snapshot/snapshot-{number}").unlink()
    lost = about("main", "shop.orders", "lost", "LATEST names 8", "newest is 5")
    with pytest.raises(Refused, match=lost):
        done(context, name, ORDERS, **arguments)


def test_main_that_lost_its_newest_snapshots_may_be_replaced_and_the_plan_says_so(
    context: Context, orders: Path
) -> None:
    (orders / "snapshot/snapshot-8").unlink()
    plan = planned(context, "replace-main-branch", name="fix")
    assert plan.refusals == ()
    assert any(about("main", "shop.orders", "lost", "LATEST").search(each) for each in plan.warnings)


@pytest.mark.parametrize("hint", [None, "1", "6", "", "what", "9000000000"])
def test_a_hint_that_is_missing_or_old_or_none_proves_nothing(
    context: Context, orders: Path, hint: str | None
) -> None:
    path = orders / "branch/branch-fix/snapshot/LATEST"
    path.unlink() if hint is None else path.write_text(hint)
    assert lost_newest(context.files, ORDERS.root("fix")) is None
    (orders / "branch/branch-fix/snapshot/snapshot-5").unlink()
    path.write_text("5")
    assert lost_newest(context.files, ORDERS.root("fix")) is None


def test_a_rollback_by_another_engine_is_no_loss(context: Context, warehouse: Path) -> None:
    open_table(warehouse, "shop.orders$branch_fix").rollback_to(6)
    root = ORDERS.root("fix")
    assert lost_newest(context.files, root) is None and tags_beyond(Side(context.files, root)) == ()


def test_a_rollback_between_the_two_reads_is_no_loss(context: Context, warehouse: Path, orders: Path) -> None:
    class RolledBack(Wrapped):
        def exists(self, path: str) -> bool:
            if path.endswith("branch-fix/snapshot/snapshot-7"):
                open_table(warehouse, "shop.orders$branch_fix").rollback_to(6)
            return super().exists(path)

    assert lost_newest(RolledBack(context.files), ORDERS.root("fix")) is None


@pytest.mark.parametrize(("name", "arguments"), TAKING)
@pytest.mark.parametrize("root", ["", "branch/branch-fix/"])
def test_a_tag_of_a_later_snapshot_is_named(
    context: Context, orders: Path, root: str, name: str, arguments: dict[str, str]
) -> None:
    """Without LATEST it is all that tells of the loss; an engine may have rolled back beside who made it."""
    branch = "fix" if root else None
    done(context, "create-tag", name="late", branch=branch)
    newest = 7 if root else 8
    (orders / f"{root}snapshot/snapshot-{newest}").unlink()
    (orders / f"{root}snapshot/LATEST").write_text(str(newest - 1))
    plan = planned(context, name, ORDERS, **arguments)
    said = about(f"ends at snapshot {newest - 1}", "tag late", f"snapshot {newest}")
    assert plan.refusals == () and any(said.search(each) for each in plan.warnings)


def test_verify_and_doctor_name_what_was_lost(context: Context, warehouse: Path, orders: Path) -> None:
    (orders / "branch/branch-fix/snapshot/snapshot-7").unlink()
    [problem] = verify(context, ORDERS).problems
    assert (problem.cause, problem.path) == ("missing", ORDERS.root("fix").snapshot(7))
    [finding] = [each for each in _root(context, ORDERS.root("fix")) if each.state == "broken"]
    assert finding.detail == problem.detail and HINT.search(finding.hint)
    assert all(each.state != "broken" for each in _root(context, ORDERS.root()))
