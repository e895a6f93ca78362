"""`delete-tag` frees what only the tag kept, on main and on branches."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.errors import NotFound, Refused
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import (
    ORDERS,
    applied,
    contents,
    context_on,
    done,
    planned,
    refused,
    replace_rows,
    texts,
)
from tests.actions.taking_over import add
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import open_table, read_rows
from tests.wording import about


def reasons(plan: Plan) -> list[str]:
    return [refusal.reason for refusal in plan.refusals]


def test_a_tag_of_a_living_snapshot_frees_nothing_and_reads_no_manifest(
    context: Context, orders: Path
) -> None:
    # Those that nothing newer shares are not even there.
    for number in (1, 3, 5):
        snapshot = Lineage(context.files, ORDERS.root()).snapshot(number)
        (orders / "manifest" / snapshot.base_manifest_list).unlink()
    plan = planned(context, "delete-tag", name="v2")
    assert (plan.freed_files, plan.refusals) == (0, ())
    [lost] = texts(plan, "loses")
    assert about("name only", "main", "snapshot 2").search(lost)
    before = contents(orders)
    applied(context, plan)
    assert before.keys() - contents(orders).keys() == {"tag/tag-v2"}


def test_the_last_reference_of_its_files_frees_them(context: Context, warehouse: Path, orders: Path) -> None:
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    rows = read_rows(warehouse, "shop.orders")
    plan = planned(context, "delete-tag", name="v2")
    before = contents(orders)
    applied(context, plan)
    gone = before.keys() - contents(orders).keys() - {"tag/tag-v2"}
    assert plan.freed_files == len(gone) > 4
    assert plan.freed_bytes == sum(len(before[path]) for path in gone)
    assert read_rows(warehouse, "shop.orders") == rows
    assert len(list(orders.glob("bucket-*/*"))) == 1


def test_a_tag_with_a_time_to_live_goes_alike(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="soon", retain="1 d")
    done(context, "delete-tag", name="soon")
    assert not (orders / "tag/tag-soon").exists()


def test_a_tag_of_a_branch_goes_without_main_noticing(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    replace_rows(warehouse, "$branch_b")
    done(context, "create-tag", name="mine", branch="b")
    main = read_rows(warehouse, "shop.orders")
    done(context, "delete-tag", name="mine", branch="b")
    plan = planned(context, "delete-tag", name="v2", branch="b")
    assert about("delete", "tag v2", "branch b", "shop.orders").search(plan.headline)
    assert about("deleted", "tag v2", "branch b", "shop.orders").search(applied(context, plan).message)
    assert (orders / "tag/tag-v2").exists()
    assert read_rows(warehouse, "shop.orders") == main
    assert len(read_rows(warehouse, "shop.orders$branch_b")) == 1


def test_a_tag_that_a_branch_was_made_from_stays(context: Context, warehouse: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    [refusal] = planned(context, "delete-tag", name="v2").refusals
    assert about("branch b", "made", "tag v2").search(refusal.reason)
    assert about("`paimark delete-branch shop.orders --name b`").search(refusal.hint)


def test_a_tag_stays_when_its_branch_expired_its_first_snapshot(context: Context) -> None:
    """Stock expiry on main spares only what main's own tags hold: the branch stands on this one still."""
    done(context, "create-branch", name="b", tag="v2")
    add(context, "shop.orders$branch_b", 100)
    add(context, "shop.orders$branch_b", 101)
    done(context, "expire-snapshots", branch="b", retain_last=1)
    plan = planned(context, "delete-tag", name="v2")
    assert refused(plan) == ["branch-needs-it"]
    with pytest.raises(Refused, match=about("branch b", "made", "tag v2")):
        applied(context, plan)


def test_a_tag_stays_while_a_branch_has_files_of_it(context: Context, warehouse: Path) -> None:
    """Where the branch keeps no record of its fork, its oldest state tells what it has of main."""
    done(context, "create-branch", name="b", tag="v2")
    add(context, "shop.orders$branch_b", 100)
    done(context, "expire-snapshots", branch="b", retain_last=1)
    done(context, "delete-tag", name="v2", branch="b")
    [reason] = reasons(planned(context, "delete-tag", name="v2"))
    assert about("branch b", "files of", "tag v2").search(reason)
    # When the branch has moved on, what it needs is its own.
    replace_rows(warehouse, "$branch_b")
    done(context, "expire-snapshots", branch="b", retain_last=1)
    rows = read_rows(warehouse, "shop.orders$branch_b")
    done(context, "delete-tag", name="v2")
    assert read_rows(warehouse, "shop.orders$branch_b") == rows


def test_a_tag_goes_while_another_of_main_holds_its_snapshot(context: Context, warehouse: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-tag", name="soon", snapshot=2, retain="1 d")
    assert refused(planned(context, "delete-tag", name="v2")) == ["branch-needs-it"]
    done(context, "create-savepoint", snapshot=2)
    done(context, "delete-tag", name="v2")
    assert read_rows(warehouse, "shop.orders$branch_b")
    [reason] = reasons(planned(context, "delete-savepoint", id=1))
    assert about("branch b", "made", "savepoint 1").search(reason)


def test_a_tag_of_a_stock_read_holds_nothing_for_good(context: Context, orders: Path) -> None:
    """It has no time to live, and goes with its read: nothing guards the branch then."""
    done(context, "create-branch", name="b", tag="v2")
    read = "batch-read-2-11111111-1111-1111-1111-111111111111"
    shutil.copy(orders / "tag/tag-v2", orders / f"tag/tag-{read}")
    assert refused(planned(context, "delete-tag", name="v2")) == ["branch-needs-it"]


def test_a_tag_stays_where_a_branch_without_it_parts_from_main(context: Context, orders: Path) -> None:
    """As a branch made by hand, or one whose own tag was deleted: its first snapshot is the tag's."""
    done(context, "create-branch", name="b", tag="v2")
    add(context, "shop.orders$branch_b", 100)
    (orders / "branch/branch-b/tag/tag-v2").unlink()
    assert refused(planned(context, "delete-tag", name="v2")) == ["branch-needs-it"]


def test_a_savepoints_tag_is_left_to_delete_savepoint(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    plan = planned(context, "delete-tag", name="savepoint.1")
    [reason] = reasons(plan)
    assert about("tag savepoint.1", "protects", "savepoint").search(reason)
    assert "delete-savepoint shop.orders --id 1" in plan.refusals[0].hint
    with pytest.raises(Refused):
        applied(context, plan)
    assert (orders / "tag/tag-savepoint.1").exists()


def test_a_tag_that_is_not_there_is_told_with_near_ones(context: Context) -> None:
    done(context, "create-tag", name="monthly")
    with pytest.raises(NotFound, match="no tag montly") as told:
        planned(context, "delete-tag", name="montly")
    assert "monthly" in told.value.hint


@pytest.mark.parametrize(
    ("writes", "dies_after"), [("delete", "tag/tag-v2$"), ("create", "STEP-.*-3$"), ("create", "STEP-.*-4$")]
)
def test_a_tag_made_anew_since_its_deletion_died_stays_with_its_rows(
    context: Context, warehouse: Path, orders: Path, writes: str, dies_after: str
) -> None:
    """Somebody needs it again, and its snapshot has expired when the deletion is recovered."""
    rows = read_rows(warehouse, "shop.orders", tag="v2")
    died = context_on(warehouse, DiesAfter(context.files, dies_after, writes=writes))
    with pytest.raises(Death):
        done(died, "delete-tag", name="v2")
    # So that the store's clock goes on.
    time.sleep(0.05)
    open_table(warehouse, "shop.orders").create_tag("v2", 2)
    for number in (1, 2):
        (orders / f"snapshot/snapshot-{number}").unlink()
    (orders / "snapshot/EARLIEST").write_text("3")
    assert f"{ORDERS.root().tag('v2')}" not in [step.target for step in planned(context, "recover").steps]
    told: list[str] = []
    message = applied(context, planned(context, "recover"), told).message
    assert about(ORDERS.root().tag("v2"), "stays", "somebody").search(message)
    assert not any("deleted shop.db" in line for line in told)
    assert read_rows(warehouse, "shop.orders", tag="v2") == rows
    assert planned(context, "recover").empty


def test_a_tag_made_anew_since_the_plan_stays(context: Context, warehouse: Path, orders: Path) -> None:
    plan = planned(context, "delete-tag", name="v2")
    done(context, "delete-tag", name="v2")
    open_table(warehouse, "shop.orders").create_tag("v2", 3)
    with pytest.raises(Refused, match=about("tag v2", "shop.orders", "plan")):
        applied(context, plan)
    assert (orders / "tag/tag-v2").exists()
