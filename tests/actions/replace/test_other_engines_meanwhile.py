"""Another engine makes a branch anew, rolls one back or expires it, while an action moves whole roots."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import BARRIER, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, context_on, done, planned
from tests.actions.taking_over import add, branched, rows_of
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import open_table
from tests.table.branches import create_branch
from tests.wording import about

ACTION = "replace-main-branch"
ARCHIVED = "branch-main-.*/snapshot/LATEST"
FIX = ORDERS.root("fix")


@pytest.fixture
def fix(orders: Path, warehouse: Path) -> Path:
    """The directory of a branch that is still to be made; main has a tag that is older than it."""
    open_table(warehouse, "shop.orders").create_tag("v1", 1)
    return orders / "branch/branch-fix"


def killed(context: Context, after: str, action: str = ACTION, /, **arguments: Any) -> None:
    dying = DiesAfter(context.files, after, writes="create|replace|delete")
    with pytest.raises(Death):
        done(context_on(Path(context.files.uri), dying), action, **arguments)


def made_anew(warehouse: Path, fix: Path) -> dict[str, bytes]:
    """Make another branch of the name, from the older tag; return its files."""
    shutil.rmtree(fix)
    create_branch(warehouse, "shop.orders", "fix", "v1")
    return contents(fix)


def made_by_stock(context: Context) -> None:
    create_branch(Path(context.files.uri), "shop.orders", "fix", "v2")
    add(context, "shop.orders$branch_fix", 100)


def recovered(context: Context) -> list[str]:
    told: list[str] = []
    applied(context, planned(context, "recover"), told)
    return told


@pytest.mark.parametrize("make", [branched, made_by_stock])
@pytest.mark.parametrize("commits", [0, 2])
def test_a_branch_made_anew_stays_whole_when_a_killed_replacement_is_taken_back(
    context: Context, warehouse: Path, fix: Path, make: Callable[[Context], object], commits: int
) -> None:
    make(context)
    killed(context, ARCHIVED, name="fix")
    made_anew(warehouse, fix)
    for number in range(commits):
        add(context, "shop.orders$branch_fix", 500 + number)
    files, rows = contents(fix), rows_of(context, FIX)
    told = recovered(context)
    assert contents(fix) == files
    assert rows_of(context, FIX) == rows
    assert any(about("branch fix", "stays", "another").search(line) for line in told)
    assert branch_names(context.files, ORDERS) == ["fix"]


def test_a_job_of_the_branch_may_commit_right_after_the_lock_is_taken(context: Context) -> None:
    branched(context, "fix", order_id=101)
    beside = Meanwhile(context.files, "branch/ACTION", lambda: add(context, "shop.orders$branch_fix", 500))
    done(context_on(Path(context.files.uri), beside), ACTION, name="fix")
    assert main_root(context.files, ORDERS) == FIX
    assert 500 in [row["order_id"] for row in rows_of(context, FIX)]


def test_a_branch_made_anew_during_the_replacement_stays_whole(
    context: Context, warehouse: Path, fix: Path
) -> None:
    branched(context)
    files: dict[str, bytes] = {}
    racing = Meanwhile(context.files, "snapshot/LATEST", lambda: files.update(made_anew(warehouse, fix)))
    with pytest.raises(Refused, match=r"and fix at snapshot 1$"):
        done(context_on(warehouse, racing), ACTION, name="fix")
    assert contents(fix) == files


def test_the_schema_of_a_branch_made_anew_is_not_overwritten(
    context: Context, warehouse: Path, fix: Path
) -> None:
    made_by_stock(context)
    files: dict[str, bytes] = {}
    racing = Meanwhile(
        context.files, "branch-fix/snapshot/snapshot-1", lambda: files.update(made_anew(warehouse, fix))
    )
    with pytest.raises(Refused, match=about("branch fix", "shop.orders", "just changed")):
        done(context_on(warehouse, racing), ACTION, name="fix")
    # Copies of main's past are more, and harm nothing.
    assert contents(fix).items() >= files.items()
    assert planned(context, "recover").empty


@pytest.mark.parametrize("make", [branched, made_by_stock])
def test_what_a_branch_got_is_taken_back_though_its_head_has_expired(
    context: Context, fix: Path, make: Callable[[Context], object]
) -> None:
    make(context)
    before = contents(fix)
    killed(context, ARCHIVED, name="fix")
    assert {"snapshot/snapshot-1", "tag/tag-v1"} <= contents(fix).keys()
    add(context, "shop.orders$branch_fix", 101)
    (fix / "snapshot/snapshot-3").unlink()
    recovered(context)
    after = contents(fix)
    assert not {"snapshot/snapshot-1", "tag/tag-v1"} & after.keys()
    assert after["schema/schema-0"] == before["schema/schema-0"]


def test_a_branch_that_is_gone_does_not_come_back(context: Context, fix: Path) -> None:
    branched(context)
    killed(context, ARCHIVED, name="fix")
    shutil.rmtree(fix)
    recovered(context)
    assert not fix.exists()


def rewound(context: Context, root: Root, commits: int) -> None:
    """A job rolls a root back, and its commits get ids that are not above the head from before."""
    name = f"shop.orders$branch_{root.branch}" if root.branch else "shop.orders"
    open_table(context.files.uri, name).rollback_to(3)
    for number in range(commits):
        add(context, name, 700 + number)


def archive_in(context: Context) -> Root:
    [name] = [each for each in branch_names(context.files, ORDERS) if each.startswith("main-")]
    return ORDERS.root(name)


@pytest.mark.parametrize("commits", [1, 2])
def test_a_previous_main_with_other_commits_of_its_ids_is_not_dropped(context: Context, commits: int) -> None:
    branched(context)
    killed(context, "STEP-[0-9a-f]*-4$", name="fix", drop_previous=True)
    archive = archive_in(context)
    rewound(context, archive, commits)
    rows = rows_of(context, archive)
    told = recovered(context)
    stays = about("previous main", "stays", f"branch {archive.label}", "snapshot 5", "rolled back")
    assert any(map(stays.search, told))
    assert rows_of(context, archive) == rows
    assert 700 in [row["order_id"] for row in rows]


@pytest.mark.parametrize("commits", [1, 2])
def test_an_archive_with_other_commits_of_its_ids_stays_after_the_undo(
    context: Context, commits: int
) -> None:
    branched(context)
    done(context, ACTION, name="fix")
    killed(context, "branch/MAIN-BRANCH$", "undo")
    archive = archive_in(context)
    rewound(context, archive, commits)
    rows = rows_of(context, archive)
    told = recovered(context)
    which = "snapshot 4" if commits == 1 else "2 commits, the newest snapshot 5"
    assert any(about(f"branch {archive.label}", "stays", "main", which).search(each) for each in told)
    assert main_root(context.files, ORDERS) == ORDERS.root()
    assert rows_of(context, archive) == rows
    assert 700 in [row["order_id"] for row in rows]


def test_an_archive_that_was_to_go_goes_though_main_was_rolled_back_since(context: Context) -> None:
    branched(context)
    done(context, ACTION, name="fix")
    # It was compared before other engines could write to main.
    killed(context, "STEP-[0-9a-f]*-6$", "undo")
    rewound(context, ORDERS.root(), 2)
    rows = rows_of(context, ORDERS.root())
    recovered(context)
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert rows_of(context, ORDERS.root()) == rows


def expired(orders: Path, branch: str) -> None:
    """As stock expires a branch down to its newest: the files of snapshot 2 stay, for a tag holds them."""
    directory = orders / f"branch/branch-{branch}/snapshot"
    (directory / "snapshot-2").unlink()
    for number in (3, 4):
        snapshot = json.loads((directory / f"snapshot-{number}").read_bytes())
        for which in ("baseManifestList", "deltaManifestList"):
            (orders / "manifest" / snapshot[which]).unlink()
        (directory / f"snapshot-{number}").unlink()


def grown(context: Context) -> None:
    branched(context)
    for number in (101, 102):
        add(context, "shop.orders$branch_fix", number)


def test_a_retired_branch_does_not_keep_what_expired_under_its_old_name(
    context: Context, warehouse: Path, orders: Path
) -> None:
    grown(context)
    rows = rows_of(context, FIX)
    racing: Files = Meanwhile(context.files, f"branch-fix/snapshot/{BARRIER}", lambda: expired(orders, "fix"))
    done(context_on(warehouse, racing), "delete-branch", name="fix", keep=True)
    [name] = branch_names(context.files, ORDERS)
    retired = ORDERS.root(name)
    assert Lineage(context.files, retired).snapshot_ids() == [5]
    assert context.files.read(retired.earliest_hint) == b"5"
    assert rows_of(context, retired) == rows
    assert verify(context, ORDERS, older_than=0).problems == ()
    assert planned(context, "expire-snapshots", retain_last=1).refusals == ()


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_what_was_moved_before_the_kill_has_not_expired(context: Context, number: int) -> None:
    grown(context)
    killed(context, f"branch-fix/snapshot/snapshot-{number}$", "delete-branch", name="fix", keep=True)
    recovered(context)
    [name] = branch_names(context.files, ORDERS)
    assert Lineage(context.files, ORDERS.root(name)).snapshot_ids() == [2, 3, 4, 5]
