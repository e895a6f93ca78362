"""What was replaced or retired comes back as it was, and nothing committed since is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.barrier import close_before_removal
from paimark.core.errors import Refused
from paimark.core.table.layout import BARRIER
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.savepoints import SavepointManager
from paimark.core.verify.verify import verify
from tests.actions.acting import (
    ORDERS,
    Meanwhile,
    applied,
    codes,
    contents,
    context_on,
    done,
    item,
    planned,
    texts,
    undoable,
)
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.actions.test_late_recovery import died, expired
from tests.faults.fault_files import Death, FaultFiles
from tests.table.branches import create_branch
from tests.wording import about


def of_main(orders: Path) -> dict[str, bytes]:
    """The files of the table directory itself."""
    parts = ("snapshot", "schema", "tag", "consumer", "changelog")
    return {path: data for path, data in contents(orders).items() if path.partition("/")[0] in parts}


def of_branch(orders: Path) -> set[str]:
    """The snapshots and tags of branch `fix`."""
    branch = orders / "branch/branch-fix"
    return {str(path.relative_to(branch)) for path in branch.glob("*/*-*") if path.parent.name != "schema"}


def test_main_is_byte_for_byte_as_it_was(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=1)
    done(context, "create-savepoint")
    done(context, "create-tag", name="short", snapshot=2, retain="5 d")
    (orders / "consumer").mkdir()
    (orders / "consumer/consumer-job").write_text('{"nextSnapshot": 4}')
    branched(context)
    done(context, "create-tag", name="checked", branch="fix")
    rows, before = main_rows(context), of_main(orders)
    done(context, "replace-main-branch", name="fix")
    assert of_main(orders) != before

    outcome = done(context, "undo")

    assert of_main(orders) == before
    assert main_rows(context) == rows
    assert main_root(context.files, ORDERS) == ORDERS.root()
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert (orders / "branch/MAIN-BRANCH").read_bytes() == b""
    assert outcome.result["previous_main"] is None
    assert [each.id for each in SavepointManager(context.files, ORDERS).of_root(ORDERS.root())] == [1, 2]


def test_commits_made_since_stay_on_the_branch_and_are_listed(context: Context) -> None:
    fix = branched(context)
    done(context, "replace-main-branch", name="fix")
    add(context, "shop.orders$branch_fix", 101)
    add(context, "shop.orders$branch_fix", 102)
    rows = main_rows(context)
    plan = planned(context, "undo")
    lost = item(plan, "commits-leave-main")
    assert (lost.count, lost.is_grave, plan.ask.phrase) == (2, True, "fix")
    assert about("stay on fix").search(lost.text)
    outcome = applied(context, plan)
    [kept] = texts(outcome, "keeps")
    assert about("branch fix", "2 commits", "main", "snapshots 4 to 5").search(kept)
    assert rows_of(context, fix) == rows


def test_the_branch_keeps_no_copies_of_mains_past_which_would_outlive_its_files(
    context: Context, orders: Path
) -> None:
    done(context, "create-savepoint", snapshot=1)
    done(context, "create-savepoint", snapshot=2)
    branched(context)
    before = of_branch(orders)
    done(context, "replace-main-branch", name="fix")
    assert {"snapshot/snapshot-1", "tag/tag-savepoint.1"} <= of_branch(orders) - before
    steps = planned(context, "undo").steps
    assert "delete" in [each.verb for each in steps if each.target == "copies in branch fix"]
    # Both branches stay: one goes on beside main, the other is main again.
    assert not [each for each in steps if each.verb == "delete" and each.target.startswith("branch ")]
    done(context, "undo")
    assert of_branch(orders) == before
    done(context, "redo")
    assert "snapshot/snapshot-1" in of_branch(orders)


def test_copies_that_main_has_lost_stay_on_the_branch(context: Context, orders: Path) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    (orders / f"branch/branch-{archive}/snapshot/snapshot-1").unlink()
    there = of_branch(orders)
    done(context, "undo")
    assert of_branch(orders) == there


def test_three_replacements_are_undone_one_by_one(context: Context, orders: Path) -> None:
    before = of_main(orders)
    states = [main_rows(context)]
    for number, name in enumerate(("one", "two", "three"), start=101):
        branched(context, name, order_id=number)
    for name in ("one", "two", "three"):
        done(context, "replace-main-branch", name=name)
        states.append(main_rows(context))
    for expected in reversed(states[:-1]):
        done(context, "undo")
        assert main_rows(context) == expected
        assert guard_tags.mismatches(context.files, ORDERS) == []
    assert of_main(orders) == before
    assert branch_names(context.files, ORDERS) == ["one", "three", "two"]
    assert undoable(context) == []


def test_replaced_undone_and_replaced_again_reads_the_same(context: Context) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    rows = main_rows(context)
    done(context, "undo")
    done(context, "replace-main-branch", name="fix")
    assert main_rows(context) == rows


def test_what_a_job_commits_to_the_branch_after_the_plan_stays_on_it(context: Context) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    plan = planned(context, "undo")
    add(context, "shop.orders$branch_fix", 101)
    outcome = applied(context, plan)
    [kept] = outcome.items
    assert about("branch fix", "1 commit", "main", "snapshot 4").search(kept.text)
    assert main_root(context.files, ORDERS) == ORDERS.root()
    assert Lineage(context.files, ORDERS.root("fix")).latest_id() == 4
    assert not context.files.entries(ORDERS.root(str(archive)).directory)


def test_an_archive_that_moved_since_the_plan_is_refused_with_both_states(context: Context) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    plan = planned(context, "undo")
    add(context, f"shop.orders$branch_{archive}", 101)
    with pytest.raises(Refused, match=r"then fix at snapshot 3 and .* 5, now fix at snapshot 3 and .* 6"):
        applied(context, plan)
    assert main_root(context.files, ORDERS) == ORDERS.root("fix")


def test_a_commit_to_the_archived_main_meanwhile_takes_it_back(
    context: Context, warehouse: Path, orders: Path
) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    before = of_main(orders)
    late = Meanwhile(
        context.files, "orders/snapshot/snapshot-5", lambda: add(context, f"shop.orders$branch_{archive}", 9)
    )
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        done(context_on(warehouse, late), "undo")
    assert of_main(orders) == before
    assert main_root(context.files, ORDERS) == ORDERS.root("fix")
    done(context, "undo")
    assert Lineage(context.files, ORDERS.root()).latest_id() == 6


def test_main_set_by_hand_is_not_undone(context: Context, orders: Path) -> None:
    branched(context)
    branched(context, "other")
    done(context, "replace-main-branch", name="fix")
    (orders / "branch/MAIN-BRANCH").write_text("other")
    [refusal] = planned(context, "undo").refusals
    assert about("main", "shop.orders", "not branch fix").search(refusal.reason)


def test_an_archive_that_is_gone_is_no_way_back(context: Context) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    plan = planned(context, "delete-branch", name=archive)
    lost = item(plan, "way-back-gone")
    assert (lost.kind, lost.is_grave) == ("loses", True)
    assert about("way back", "fix", "main").search(lost.text)
    applied(context, plan)
    [refusal] = planned(context, "undo").refusals
    assert about(f"branch {archive}", "main before", "gone").search(refusal.reason)
    with pytest.raises(Refused):
        done(context, "undo")


def test_commits_of_a_stale_writer_are_not_mixed_in(context: Context, orders: Path) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    stray = (
        (orders / "branch/branch-fix/snapshot/snapshot-3")
        .read_bytes()
        .replace(b"manifest-list-", b"manifest-list-x")
    )
    (orders / "snapshot/snapshot-6").write_bytes(stray.replace(b'"id": 3', b'"id": 6'))
    [refusal] = planned(context, "undo").refusals
    assert about("stale writer", "1 commit", "shop.orders").search(refusal.reason)


def test_a_retired_branch_gets_its_name_and_bytes_back(
    context: Context, orders: Path, warehouse: Path
) -> None:
    branched(context)
    before = contents(orders / "branch/branch-fix")
    retired = done(context, "delete-branch", name="fix", keep=True).result["retired_as"]
    assert branch_names(context.files, ORDERS) == [retired]
    assert undoable(context, ORDERS)[0].turned.needs == {retired}
    done(context, "undo")
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert contents(orders / "branch/branch-fix") == before


def test_a_name_that_is_taken_again_is_not_overwritten(context: Context) -> None:
    branched(context)
    done(context, "delete-branch", name="fix", keep=True)
    branched(context)
    [refusal] = planned(context, "undo").refusals
    assert about("shop.orders", "another branch fix").search(refusal.reason)


def test_a_name_that_is_taken_after_the_plan_is_not_overwritten_either(
    context: Context, orders: Path, warehouse: Path
) -> None:
    branched(context)
    done(context, "delete-branch", name="fix", keep=True)
    plan = planned(context, "undo")
    branched(context, order_id=200)
    before = contents(orders)
    with pytest.raises(Refused, match="another branch fix"):
        applied(context, plan)
    for point in (1, 2):
        with pytest.raises((Death, Refused)):
            applied(context_on(warehouse, FaultFiles(context.files, point)), plan)
        done(context, "recover")
        assert contents(orders) == before


def test_another_branch_of_the_name_keeps_what_it_has_of_main(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Another engine made it once it could open the table, and before the undo was recovered."""
    done(context, "create-tag", name="first", snapshot=1)
    branched(context)
    done(context, "replace-main-branch", name="fix")
    died(warehouse, r"STEP-\w+-6$", "undo")
    shutil.rmtree(orders / "branch/branch-fix")
    create_branch(warehouse, "shop.orders", "fix", "first")
    add(context, "shop.orders$branch_fix", 901)
    before = contents(orders / "branch/branch-fix")
    done(context, "recover")
    assert contents(orders / "branch/branch-fix") == before
    assert verify(context, ORDERS).problems == ()


def test_main_keeps_its_tags_though_its_copy_stays(context: Context, warehouse: Path, orders: Path) -> None:
    """Jobs committed to both before the undo was recovered, and what main and its copy share has expired."""
    done(context, "create-tag", name="past", snapshot=1)
    branched(context)
    expired(orders, 1)
    archive = str(done(context, "replace-main-branch", name="fix").result["previous_main"])
    died(warehouse, r"orders/snapshot/LATEST$", "undo")
    add_late(context, archive, 9)
    add(context, "shop.orders", 10)
    expired(orders, 2, 3, 4, 5)
    done(context, "recover")
    tags = Lineage(context.files, ORDERS.root()).tag_names()
    assert tags == [f"paimark.truncate.{archive}.2", "past", "v2"]
    assert verify(context, ORDERS).problems == ()


def add_late(context: Context, archive: str, order_id: int) -> None:
    """Commit as a job that had read the newest snapshot before the archive was closed."""
    root = ORDERS.root(archive)
    newest = Lineage(context.files, root).snapshot_ids()[-1]
    context.files.replace(root.latest_hint, str(newest).encode())
    add(context, f"shop.orders$branch_{archive}", order_id)
    close_before_removal(context.files, root)


def test_a_commit_to_the_archive_until_it_was_closed_keeps_it(context: Context, warehouse: Path) -> None:
    """The answer names the commit, its user and the way to main."""
    branched(context)
    archive = str(done(context, "replace-main-branch", name="fix").result["previous_main"])
    mark = f"branch-{archive}/snapshot/{BARRIER}"
    late = Meanwhile(context.files, mark, lambda: add(context, f"shop.orders$branch_{archive}", 9))
    outcome = done(context_on(warehouse, late), "undo")
    head = Lineage(context.files, ORDERS.root(archive)).latest()
    assert head is not None
    stays = item(outcome, "archive-stays")
    assert (stays.kind, stays.count, stays.is_grave) == ("not", 1, True)
    merge = f"`paimark merge-branch shop.orders --name {archive}`"
    assert about(f"branch {archive}", "stays", f"snapshot 6 by {head.commit_user}", merge).search(stays.text)
    assert outcome.result["archive"] == archive and outcome.result["late_commits"] == 1
    assert outcome.result["stays"] == stays.text
    assert verify(context, ORDERS).problems == ()
    done(context, "merge-branch", name=archive)
    assert 9 in [row["order_id"] for row in rows_of(context, ORDERS.root())]
    done(context, "delete-branch", name=archive)
    assert branch_names(context.files, ORDERS) == ["fix"]


def test_a_job_fails_once_its_archive_goes(context: Context, warehouse: Path) -> None:
    branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    died(warehouse, rf"branch-{archive}/snapshot/LATEST$", "undo")
    with pytest.raises(Exception, match="Expecting value"):
        add(context, f"shop.orders$branch_{archive}", 9)
    outcome = done(context, "recover")
    assert branch_names(context.files, ORDERS) == ["fix"] and codes(outcome, "not") == []
    assert verify(context, ORDERS).problems == ()


def test_a_commit_that_was_under_way_can_be_read_though_the_archive_was_going(
    context: Context, warehouse: Path
) -> None:
    branched(context)
    archive = str(done(context, "replace-main-branch", name="fix").result["previous_main"])
    died(warehouse, r"STEP-\w+-6$", "undo")
    add_late(context, archive, 9)
    root = ORDERS.root(archive)
    # What the removal has taken until it died.
    for path in (root.snapshot(2), root.snapshot(5), root.schema(0)):
        context.files.delete(path)
    [told] = [each.text for each in planned(context, "recover").items if each.code == "recovers-otherwise"]
    assert about(f"branch {archive}", "stays", "main", "snapshot 6").search(told)
    outcome = done(context, "recover")
    assert item(outcome, "archive-stays").count == 1
    assert outcome.result["archive"] == archive and outcome.result["recovered"] == 1
    assert Lineage(context.files, root).snapshot_ids() == [5, 6]
    rows = [row["order_id"] for row in rows_of(context, ORDERS.root())]
    assert sorted(row["order_id"] for row in rows_of(context, root)) == sorted([*rows, 9])
    assert verify(context, ORDERS).problems == ()


@pytest.mark.parametrize("hint", [None, "1"])
def test_a_stock_expiry_of_the_plain_name_does_not_stop_the_undo(
    context: Context, orders: Path, hint: str | None
) -> None:
    """It finds nothing to expire, and writes EARLIEST: the barrier's number would hide all snapshots."""
    if hint is not None:
        (orders / "snapshot/EARLIEST").write_text(hint)
    branched(context)
    before = of_main(orders)
    done(context, "replace-main-branch", name="fix")
    (orders / "snapshot/EARLIEST").write_text("9000000000")
    done(context, "undo")
    assert of_main(orders) == before
