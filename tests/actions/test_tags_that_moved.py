"""A change that moves a root dies, and stock engines go on with its tags before somebody recovers it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, done, replace_rows
from tests.actions.taking_over import add, branched
from tests.actions.test_late_recovery import died

DAILY = "2026-05-01"


def dead_replacement(context: Context, warehouse: Path) -> Root:
    """It died when the branch fix was main; return the archive."""
    died(warehouse, "MAIN-BRANCH$", "replace-main-branch", name="fix")
    [archive] = [name for name in branch_names(context.files, ORDERS) if name != "fix"]
    return ORDERS.root(archive)


def engine_tag(orders: Path, name: str, snapshot: int) -> None:
    shutil.copy(orders / f"snapshot/snapshot-{snapshot}", orders / f"tag/tag-{name}")


def engine_deletes(context: Context, name: str, branch: str | None = None) -> None:
    """The tag goes with a list that it alone needs."""
    root = ORDERS.root(branch)
    tag = Lineage(context.files, root).tag(name)
    context.files.delete(root.tag(name))
    context.files.delete(manifest_list_paths(ORDERS, tag)[0])


@pytest.mark.parametrize("name", [DAILY, "mine"])
def test_a_tag_that_an_engine_deleted_with_its_files_is_not_kept(
    context: Context, warehouse: Path, orders: Path, name: str
) -> None:
    branched(context)
    engine_tag(orders, name, 3)
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    archive = dead_replacement(context, warehouse)
    engine_deletes(context, name)
    done(context, "recover")
    assert name not in Lineage(context.files, archive).tag_names()
    assert verify(context, ORDERS).problems == ()


def test_a_tag_from_before_the_fork_is_not_kept_in_the_branch_either(
    context: Context, warehouse: Path, orders: Path
) -> None:
    engine_tag(orders, DAILY, 1)
    branched(context)
    replace_rows(warehouse, "$branch_fix")
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    archive = dead_replacement(context, warehouse)
    assert DAILY in Lineage(context.files, ORDERS.root("fix")).tag_names()
    engine_deletes(context, DAILY)
    done(context, "recover")
    for root in (archive, ORDERS.root("fix"), ORDERS.root()):
        assert not context.files.exists(root.tag(DAILY)), root
    assert verify(context, ORDERS).problems == ()
    assert guard_tags.mismatches(context.files, ORDERS) == []


def test_a_whole_tag_of_somebody_stays(context: Context, warehouse: Path, orders: Path) -> None:
    branched(context)
    engine_tag(orders, "mine", 3)
    archive = dead_replacement(context, warehouse)
    (orders / "tag/tag-mine").unlink()
    done(context, "recover")
    assert "mine" in Lineage(context.files, archive).tag_names()


def test_a_tag_that_an_engine_moved_keeps_what_it_holds_now(
    context: Context, warehouse: Path, orders: Path
) -> None:
    branched(context)
    engine_tag(orders, "latest", 3)
    archive = dead_replacement(context, warehouse)
    add(context, "shop.orders", 77)
    engine_tag(orders, "latest", 6)
    done(context, "recover")
    assert Lineage(context.files, archive).tag("latest").id == 6
    assert verify(context, ORDERS).problems == ()


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_guard_of_a_new_tag_is_not_taken_for_a_tag_that_moved(
    context: Context, warehouse: Path, orders: Path, is_deleted: bool
) -> None:
    """While the table is locked, the guard is made only where no other tag of its name is."""
    branched(context)
    engine_tag(orders, "latest", 4)
    archive = dead_replacement(context, warehouse)
    if is_deleted:
        (orders / "tag/tag-latest").unlink()
    done(context, "create-tag", name="latest", retain="9 d")
    own = Lineage(context.files, ORDERS.root())
    assert own.tag("latest").id == (3 if is_deleted else 4)
    done(context, "recover")
    assert own.tag("latest").id == 3
    assert Lineage(context.files, archive).tag("latest").id == 4


def test_a_tag_that_an_engine_deleted_is_not_kept_with_a_retired_branch(
    context: Context, warehouse: Path
) -> None:
    branched(context)
    done(context, "create-tag", name="mine", branch="fix")
    replace_rows(warehouse, "$branch_fix")
    done(context, "expire-snapshots", branch="fix", retain_last=1)
    died(warehouse, r"STEP-\w+-3$", "delete-branch", name="fix", keep=True)
    engine_deletes(context, "mine", "fix")
    done(context, "recover")
    [retired] = branch_names(context.files, ORDERS)
    assert Lineage(context.files, ORDERS.root(retired)).tag_names() == ["v2"]
    assert verify(context, ORDERS).problems == ()


def test_a_tag_that_an_engine_moved_is_cut_off_as_it_is_now(
    context: Context, warehouse: Path, orders: Path
) -> None:
    engine_tag(orders, "latest", 5)
    died(warehouse, r"STEP-\w+-2$", "rollback", to="snapshot.3", truncate=True)
    engine_tag(orders, "latest", 4)
    done(context, "recover")
    [archive] = branch_names(context.files, ORDERS)
    assert Lineage(context.files, ORDERS.root(archive)).tag("latest").id == 4
