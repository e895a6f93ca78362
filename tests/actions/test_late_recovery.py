"""A change dies, time passes, other engines commit and expire, and only then somebody recovers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.merge.divergence import find_divergence
from paimark.core.actions.merge.journal import record_merge
from paimark.core.actions.roots.pin_snapshot import require_held
from paimark.core.actions.roots.savepoint_claim import forget_savepoint
from paimark.core.errors import Corrupt, Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, main_root
from paimark.core.table.records import Point, point_of
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, context_on, done, planned
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import open_table
from tests.spark.engine.test_reads import at
from tests.wording import about


def died(warehouse: Path, pattern: str, name: str, /, **arguments: object) -> None:
    """The action is killed right after its first write to such a path."""
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), pattern))
    with pytest.raises(Death):
        done(dying, name, ORDERS, **arguments)


def expired(orders: Path, *numbers: int) -> None:
    """What a stock expiry leaves of these snapshots' files."""
    for number in numbers:
        (orders / f"snapshot/snapshot-{number}").unlink()
    (orders / "snapshot/EARLIEST").unlink(missing_ok=True)


def test_main_went_on_past_a_truncation_that_died(context: Context, warehouse: Path, orders: Path) -> None:
    """Others committed after the head, and what they stand on expired: main is left as it is."""
    died(warehouse, r"STEP-\w+-2$", "rollback", to="snapshot.3", truncate=True)
    died_at = Lineage(context.files, ORDERS.root()).latest_id()
    assert died_at == 5
    for number in (900, 901, 902):
        add(context, "shop.orders", number)
    rows = main_rows(context)
    expired(orders, 1, 2, 3, 4, 5, 6)
    done(context, "recover")
    assert main_rows(context) == rows
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [7, 8]


def test_a_replaced_main_that_expired_before_recovery_keeps_no_broken_snapshots(
    context: Context, warehouse: Path, orders: Path
) -> None:
    branched(context)
    died(warehouse, "MAIN-BRANCH", "replace-main-branch", name="fix")
    expired(orders, 1, 2)
    done(context, "recover")
    assert main_root(context.files, ORDERS).label == "fix"
    plan = planned(context, "undo")
    assert plan.refusals == ()
    applied(context, plan)
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [3, 4, 5]
    assert planned(context, "recover").empty


def test_a_replaced_branch_that_expired_before_recovery_leaves_no_broken_copies(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Main was a branch already, so nothing is archived; but the new main has copies of its past."""
    branched(context)
    done(context, "replace-main-branch", name="fix")
    for number in (101, 102):
        add(context, "shop.orders$branch_fix", number)
    done(context, "create-tag", name="kept", snapshot=3)
    done(context, "create-tag", name="fork", snapshot=4)
    branched(context, "second", tag="fork", order_id=103)
    died(warehouse, r"branch/MAIN-BRANCH$", "replace-main-branch", name="second")
    second = Lineage(context.files, ORDERS.root("second"))
    assert second.snapshot_ids() == [1, 2, 3, 4, 5] and second.has_tag("kept")
    (orders / "manifest" / second.snapshot(3).delta_manifest_list).unlink()
    for number in (1, 2, 3):
        (orders / f"branch/branch-fix/snapshot/snapshot-{number}").unlink()
    for root in ("", "branch/branch-fix/"):
        (orders / f"{root}tag/tag-kept").unlink()
    done(context, "recover")
    assert main_root(context.files, ORDERS).label == "second"
    assert second.snapshot_ids() == [4, 5] and second.tag_names() == ["fork", "v2"]
    assert verify(context, ORDERS).problems == ()
    assert planned(context, "recover").empty


@pytest.mark.parametrize(("by", "given"), [("delete-branch", {"name": "fix"}), ("undo", {})])
@pytest.mark.parametrize(("name", "asked"), [("create-tag", {"name": "late"}), ("create-savepoint", {})])
def test_nothing_is_kept_on_a_branch_whose_deletion_died(
    context: Context, warehouse: Path, name: str, asked: dict[str, str], by: str, given: dict[str, str]
) -> None:
    """The recovery goes on deleting, and would take what was made with it."""
    done(context, "create-branch", name="fix", tag="v2")
    died(warehouse, r"STEP-\w+-2$", by, **given)
    with pytest.raises(Refused, match=about("branch fix", "shop.orders", "being deleted")):
        done(context, name, ORDERS, branch="fix", **asked)
    assert [name for name, _ in Lineage(context.files, ORDERS.root("fix")).tags()] == ["v2"]
    done(context, "recover")
    assert planned(context, "recover").empty and main_rows(context)


@pytest.mark.parametrize(("name", "asked"), [("create-tag", {"name": "late"}), ("create-savepoint", {})])
def test_what_is_kept_on_a_branch_outlives_an_expiry_on_main_which_shares_it(
    context: Context, orders: Path, name: str, asked: dict[str, str]
) -> None:
    """After a fast-forward; stock expiry on main looks at main's tags only."""
    done(context, "create-branch", name="fix", tag="v2")
    done(context, "rollback", to="v2", truncate=True)
    for number in (900, 901, 902):
        add(context, "shop.orders$branch_fix", number)
    done(context, "merge-branch", name="fix")
    done(context, name, ORDERS, branch="fix", snapshot=4, **asked)
    kept = [tag.id for _, tag in Lineage(context.files, ORDERS.root()).tags()]
    assert 4 in kept
    expired(orders, 1, 2, 3, 4)
    assert verify(context, ORDERS).problems == ()
    if name == "create-savepoint":
        done(context, "delete-savepoint", id=2)
        assert 4 not in [tag.id for _, tag in Lineage(context.files, ORDERS.root()).tags()]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("replace-main-branch", {"name": "fix"}),
        ("delete-branch", {"name": "fix", "keep": True}),
        ("rollback", {"to": "v2", "truncate": True}),
    ],
)
def test_a_copy_that_somebody_committed_to_is_not_taken_back(
    context: Context, warehouse: Path, name: str, asked: dict[str, str | bool]
) -> None:
    branched(context)
    plan = planned(context, name, ORDERS, **asked)
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), r"branch/branch-(?!fix).*LATEST$"))
    with pytest.raises(Death):
        applied(dying, plan)
    [copy] = [each for each in branch_names(context.files, ORDERS) if each != "fix"]
    add(context, f"shop.orders$branch_{copy}", 900)
    rows = rows_of(context, ORDERS.root(copy))
    told: list[str] = []
    applied(context, planned(context, "recover"), told)
    assert any(about(f"branch {copy}", "stays", "commits", "tags").search(each) for each in told)
    assert rows_of(context, ORDERS.root(copy)) == rows
    assert planned(context, "recover").empty


@pytest.mark.parametrize("to", [1, 4])
def test_after_a_stock_rollback_past_what_a_merge_stands_on_nothing_is_merged(
    context: Context, orders: Path, to: int
) -> None:
    """Savepoints of what was rolled back are no past of main: rows would be there twice, or not at all."""
    done(context, "create-tag", name="fork", snapshot=3)
    done(context, "create-branch", name="fix", tag="fork")
    done(context, "rollback", to="fork", truncate=True)
    add(context, "shop.orders$branch_fix", 100)
    if to == 4:
        done(context, "merge-branch", name="fix")
        add(context, "shop.orders", 200)
        add(context, "shop.orders$branch_fix", 101)
    done(context, "create-savepoint")
    # What a stock rollback leaves, once the savepoint's tag is written again.
    rolled_back_to = to - 1 if to == 4 else to
    for path in (orders / "snapshot").glob("snapshot-*"):
        if int(path.name.removeprefix("snapshot-")) > rolled_back_to:
            path.unlink()
    (orders / "snapshot/LATEST").write_text(str(rolled_back_to))
    with pytest.raises(Refused):
        planned(context, "merge-branch", name="fix")
    add(context, "shop.orders", 300)
    add(context, "shop.orders", 301)
    with pytest.raises(Refused):
        planned(context, "merge-branch", name="fix")


def test_damage_that_came_after_an_expiry_died_does_not_hold_the_table(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Nothing tells any more what is needed: what is left stays, and the change ends."""
    died(warehouse, r"STEP-\w+-2$", "expire-snapshots", retain_last=1)
    record = Lineage(context.files, ORDERS.root()).snapshot(5)
    (orders / "manifest" / record.delta_manifest_list).unlink()
    before = {path for path in contents(orders) if path.startswith(("bucket", "manifest"))}
    told: list[str] = []
    applied(context, planned(context, "recover"), told)
    assert any(about("stays", "`paimark verify shop.orders`").search(each) for each in told)
    assert {path for path in contents(orders) if path.startswith(("bucket", "manifest"))} == before
    assert planned(context, "recover").empty


def test_a_truncation_that_died_ends_main_where_it_said_though_that_expired(
    context: Context, warehouse: Path, orders: Path
) -> None:
    rows = sorted(at(warehouse, "shop.orders", 3), key=lambda row: row["order_id"])
    died(warehouse, r"STEP-\w+-2$", "rollback", to="snapshot.3", truncate=True)
    expired(orders, 1, 2, 3, 4)
    done(context, "recover")
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [3]
    assert main_rows(context) == rows
    assert verify(context, ORDERS).problems == ()


def test_a_main_that_would_be_empty_does_not_come_back(context: Context, orders: Path) -> None:
    """Somebody removed the archive's snapshots; a tag keeps the newest."""
    branched(context)
    done(context, "create-tag", name="kept", snapshot=5)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    for each in (orders / f"branch/branch-{archive}/snapshot").iterdir():
        each.unlink()
    [refusal] = planned(context, "undo").refusals
    assert about("no snapshot", "only tags", "shop.orders", "empty").search(refusal.reason)
    assert "VERSION AS OF 'kept'" in refusal.hint


def test_what_was_merged_stays_so_when_main_moves_and_branches_are_renamed(context: Context) -> None:
    """Else the next merge would bring the same rows in again."""
    done(context, "create-tag", name="fork")
    done(context, "create-branch", name="b", tag="fork")
    add(context, "shop.orders", 50)
    add(context, "shop.orders$branch_b", 100)
    # As a merge of rows is recorded.
    at_main, at_branch = (head(context, root) for root in (ORDERS.root(), ORDERS.root("b")))
    merge_history.record(
        context.files,
        ORDERS,
        merge_history.MergeEvent(kind="merge", main=at_main, branch="b", head=at_branch),
    )
    branched(context, "next", tag="fork", order_id=200)
    done(context, "create-tag", name="merged")
    done(context, "create-branch", name="later", tag="merged")

    def is_merged(name: str = "b") -> bool:
        known = merge_history.merged(context.files, main_root(context.files, ORDERS), name)
        return known is not None and known.head == at_branch

    assert is_merged()
    archive = str(done(context, "replace-main-branch", name="later").result["previous_main"])
    assert is_merged()
    done(context, "replace-main-branch", name=archive)
    assert is_merged()
    done(context, "undo")
    done(context, "undo")
    assert is_merged()
    retired = str(done(context, "delete-branch", name="b", keep=True).result["retired_as"])
    assert is_merged(retired)
    done(context, "undo")
    assert is_merged()
    done(context, "replace-main-branch", name="next")
    assert not is_merged()


@pytest.mark.parametrize(("name", "asked"), [("create-tag", {"name": "late"}), ("create-savepoint", {})])
def test_what_was_kept_of_mains_past_while_a_branch_was_main_is_kept_when_main_is_back(
    context: Context, name: str, asked: dict[str, str]
) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    done(context, name, ORDERS, snapshot=1, **asked)
    done(context, "undo", replacement=True)
    assert main_root(context.files, ORDERS) == ORDERS.root()
    # Stock expiry on main looks at main's tags only.
    assert 1 in [tag.id for _, tag in Lineage(context.files, ORDERS.root()).tags()]


def test_a_tag_of_what_was_main_until_just_then_goes_from_where_a_replacement_copied_it(
    context: Context, warehouse: Path
) -> None:
    """What lies in the table directory then guards the new main's tags, and goes with them."""
    branched(context)

    def tagged() -> list[Root]:
        roots = dict.fromkeys([ORDERS.root(), *all_roots(context.files, ORDERS)])
        return [root for root in roots if context.files.exists(root.tag("late"))]

    def replaced() -> None:
        done(context, "replace-main-branch", name="fix")
        assert len(tagged()) > 1

    files = Meanwhile(context.files, "tag-late", replaced)
    with pytest.raises(Refused, match=about("became main", "shop.orders")):
        done(context_on(warehouse, files), "create-tag", ORDERS, name="late", snapshot=1)
    assert tagged() == []
    assert verify(context, ORDERS).problems == ()


@pytest.mark.parametrize(
    ("name", "asked", "tag"),
    [("create-tag", {"name": "late"}, "late"), ("create-savepoint", {}, "savepoint.1")],
)
def test_a_branch_without_a_readable_name_does_not_keep_what_is_taken_back(
    context: Context, warehouse: Path, orders: Path, name: str, asked: dict[str, str], tag: str
) -> None:
    """Whoever asks for all roots is refused while it is there; nothing of ours may wait for that to end."""
    unreadable = orders / "branch/branch-a\x07b"

    def stopped() -> None:
        unreadable.mkdir(parents=True)
        if name == "create-savepoint":
            # A tag is looked for in all roots after it was made, which stops it.
            raise Refused("No longer allowed to write")

    with pytest.raises((Corrupt, Refused), match=r"\bread\b|No longer allowed"):
        done(context_on(warehouse, Meanwhile(context.files, f"tag-{tag}", stopped)), name, ORDERS, **asked)
    unreadable.rmdir()
    assert not (orders / f"tag/tag-{tag}").exists()
    assert planned(context, "recover").empty


@pytest.mark.parametrize(
    ("name", "asked", "tag"),
    [("create-tag", {"name": "late"}, "late"), ("create-savepoint", {}, "savepoint.1")],
)
def test_nothing_is_kept_on_a_branch_that_was_deleted_just_before_its_tag(
    context: Context, warehouse: Path, orders: Path, name: str, asked: dict[str, str], tag: str
) -> None:
    branched(context)

    def deleted() -> None:
        kept = (orders / f"branch/branch-fix/tag/tag-{tag}").read_bytes()
        (orders / f"branch/branch-fix/tag/tag-{tag}").unlink()
        shutil.rmtree(orders / "branch/branch-fix")
        (orders / "branch/branch-fix/tag").mkdir(parents=True)
        (orders / f"branch/branch-fix/tag/tag-{tag}").write_bytes(kept)

    files = Meanwhile(context.files, f"branch-fix/tag/tag-{tag}", deleted)
    with pytest.raises(Refused, match=about("branch fix", "deleted")):
        done(context_on(warehouse, files), name, ORDERS, branch="fix", **asked)
    # Empty directories would be taken for a branch.
    assert not (orders / "branch/branch-fix").exists()
    assert verify(context, ORDERS).problems == ()


@pytest.mark.parametrize(
    ("name", "asked", "kept"),
    [
        ("create-savepoint", {}, "savepoint.1"),
        ("create-tag", {"name": "old"}, "paimark.merge.fix.1"),
    ],
)
def test_what_is_kept_of_mains_past_is_kept_though_main_comes_back_meanwhile(
    context: Context, monkeypatch: pytest.MonkeyPatch, name: str, asked: dict[str, str], kept: str
) -> None:
    """It was begun on the branch that was main; expiry looks in the table directory alone."""
    branched(context)
    done(context, "replace-main-branch", name="fix")
    undo = planned(context, "undo")

    def beside_an_undo(*arguments: Any) -> None:
        if main_root(context.files, ORDERS) != ORDERS.root():
            applied(context, undo)
        require_held(*arguments)

    monkeypatch.setattr("paimark.core.actions.roots.shared_snapshots.require_held", beside_an_undo)
    done(context, name, ORDERS, snapshot=1, **asked)
    assert main_root(context.files, ORDERS) == ORDERS.root()
    held = dict(Lineage(context.files, ORDERS.root()).tags())
    assert held[kept].id == 1


def test_a_tag_that_somebody_deletes_while_it_is_made_leaves_no_pin(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a branch, of a snapshot that main has: main's pin would stay for good."""
    branched(context)

    def beside_a_deletion(*arguments: Any) -> None:
        (orders / "branch/branch-fix/tag/tag-old").unlink(missing_ok=True)
        require_held(*arguments)

    monkeypatch.setattr("paimark.core.actions.roots.shared_snapshots.require_held", beside_a_deletion)
    with pytest.raises(Refused, match=about("somebody", "tag old")):
        done(context, "create-tag", name="old", branch="fix", snapshot=2)
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["v2"]


def test_a_tag_of_a_savepoint_that_is_half_taken_back_goes(context: Context, orders: Path) -> None:
    """Its snapshot expired before the recovery; no list shows what has no record."""
    done(context, "create-savepoint")
    (orders / "savepoint/savepoint-1").unlink()
    add(context, "shop.orders", 900)
    expired(orders, 1, 2, 3, 4, 5)
    forget_savepoint(context, ORDERS.root(), 1, lambda line: None)
    assert "savepoint.1" not in [name for name, _ in Lineage(context.files, ORDERS.root()).tags()]


def gone_on_and_expired(context: Context, orders: Path, count: int = 3) -> list[dict[str, object]]:
    """Jobs commit, and an engine that knows no consumers expires all but the newest; main's rows."""
    for number in range(700, 700 + count):
        add(context, "shop.orders", number)
    shutil.rmtree(orders / "consumer", ignore_errors=True)
    lineage = Lineage(context.files, ORDERS.root())
    *gone, newest = lineage.snapshot_ids()
    expired(orders, *gone)
    (orders / "snapshot/EARLIEST").write_text(str(newest))
    return main_rows(context)


def has_gone_on_whole(context: Context, orders: Path, rows: list[dict[str, object]]) -> bool:
    """Main reads as before, by the hint too, and a job's next commit is its newest."""
    newest = Lineage(context.files, ORDERS.root()).snapshot_ids()[-1]
    is_whole = main_rows(context) == rows and (orders / "snapshot/LATEST").read_text() == str(newest)
    add(context, "shop.orders", 999)
    return is_whole and len(main_rows(context)) == len(rows) + 1


@pytest.mark.parametrize("expires", [False, True])
def test_what_jobs_commit_after_a_replacement_died_is_in_the_main_that_was(
    context: Context, warehouse: Path, orders: Path, expires: bool
) -> None:
    """Their sessions know nothing of the new main until somebody recovers, and expiry is held meanwhile."""
    branched(context)
    died(warehouse, "MAIN-BRANCH$", "replace-main-branch", name="fix")
    assert [each.name for each in orders.glob("consumer/*")] != []
    add(context, "shop.orders", 600)
    if expires:
        gone_on_and_expired(context, orders)
    rows = rows_of(context, ORDERS.root())
    done(context, "recover")
    [archive] = [name for name in branch_names(context.files, ORDERS) if name != "fix"]
    assert rows_of(context, ORDERS.root(archive)) == rows
    assert not list(orders.rglob("consumer-*")) and verify(context, ORDERS).problems == ()
    done(context, "undo")
    assert main_root(context.files, ORDERS) == ORDERS.root() and has_gone_on_whole(context, orders, rows)


@pytest.mark.parametrize("at", [r"orders/snapshot/LATEST$", r"STEP-\w+-4$"])
def test_main_that_went_on_past_a_fast_forward_that_died_gets_nothing_twice(
    context: Context, warehouse: Path, orders: Path, at: str
) -> None:
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    add(context, "shop.orders$branch_fix", 900)
    died(warehouse, at, "merge-branch", name="fix")
    rows = gone_on_and_expired(context, orders)
    if "STEP" not in at:
        with pytest.raises(Refused, match=about("known", "committed", "shop.orders")):
            done(context, "recover")
        assert main_rows(context) == rows
        done(context, "recover", assume="committed")
    else:
        done(context, "recover")
    assert planned(context, "recover").empty
    assert any(
        name.startswith("paimark.merge.fix") for name in Lineage(context.files, ORDERS.root()).tag_names()
    )
    assert planned(context, "merge-branch", name="fix").empty
    assert has_gone_on_whole(context, orders, rows)


def test_what_a_person_says_was_not_merged_is_merged_next_time(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Main keeps the tag of the merge, in case the person errs; it does not prove that main has the rows."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    add(context, "shop.orders$branch_fix", 900)
    died(warehouse, r"tag-paimark\.merge\.fix\.6$", "merge-branch", name="fix")
    gone_on_and_expired(context, orders)
    done(context, "recover", assume="not-committed")
    assert "paimark.merge.fix.6" in Lineage(context.files, ORDERS.root()).tag_names()
    assert 900 not in {row["order_id"] for row in main_rows(context)}
    merging = planned(context, "merge-branch", name="fix")
    assert not merging.empty and not merging.refusals


@pytest.mark.parametrize("at", [r"STEP-\w+-2$", r"consumer-paimark"])
def test_a_pin_of_an_earlier_merge_outlives_one_that_died(context: Context, warehouse: Path, at: str) -> None:
    """Ids are given again once main was cut back: the earlier merge's snapshot had the same."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    add(context, "shop.orders$branch_fix", 900)
    open_table(warehouse, "shop.orders").create_tag("paimark.merge.fix.6", 4)
    died(warehouse, at, "merge-branch", name="fix")
    done(context, "recover")
    assert dict(Lineage(context.files, ORDERS.root()).tags())["paimark.merge.fix.6"].id == 4


def test_nothing_is_merged_twice_after_a_fast_forward_that_expired_half_way(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Somebody says that it was committed, and nobody knows how many of its snapshots were."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="ahead", tag="now")
    for number in (900, 901):
        add(context, "shop.orders$branch_ahead", number)
    died(warehouse, r"orders/snapshot/snapshot-6$", "merge-branch", name="ahead")
    rows = gone_on_and_expired(context, orders)
    done(context, "recover", assume="committed")
    with pytest.raises(Refused, match=about("how far", "branch ahead", "merged")):
        planned(context, "merge-branch", name="ahead")
    assert has_gone_on_whole(context, orders, rows)


def test_a_merge_that_expired_before_its_recovery_is_told_of_without_a_tag(
    context: Context, orders: Path
) -> None:
    """Its tag would name files that are gone: no engine could read it, and `verify` would find damage."""
    branched(context)
    divergence = find_divergence(context.files, ORDERS, "fix")
    add(context, "shop.orders", 800)
    merged = Lineage(context.files, ORDERS.root()).latest()
    assert merged is not None
    gone_on_and_expired(context, orders)
    record_merge(context, divergence, merged)
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["v2"]
    # What of the branch main has is known, and what main changed since is not.
    with pytest.raises(Refused, match=about("last merge", "gone")):
        planned(context, "merge-branch", name="fix")


@pytest.mark.parametrize("is_noted", [False, True])
def test_main_that_went_on_past_an_undone_truncation_gets_nothing_twice(
    context: Context, warehouse: Path, orders: Path, is_noted: bool
) -> None:
    done(context, "rollback", to="snapshot.3", truncate=True)
    died(warehouse, r"orders/snapshot/LATEST$" if is_noted else r"orders/snapshot/snapshot-4$", "undo")
    rows = gone_on_and_expired(context, orders)
    if not is_noted:
        with pytest.raises(Refused, match=about("known", "committed", "shop.orders")):
            done(context, "recover")
        done(context, "recover", assume="not-committed")
    else:
        done(context, "recover")
    assert planned(context, "recover").empty
    assert has_gone_on_whole(context, orders, rows)


@pytest.mark.parametrize("count", [1, 3])
def test_main_that_went_on_half_cut_and_expired_past_the_cut_stays_as_it_is(
    context: Context, warehouse: Path, orders: Path, count: int
) -> None:
    died(warehouse, r"orders/snapshot/LATEST$", "rollback", to="snapshot.3", truncate=True)
    (orders / "snapshot/snapshot-5").unlink()
    rows = gone_on_and_expired(context, orders, count)
    done(context, "recover")
    assert planned(context, "recover").empty
    [archive] = branch_names(context.files, ORDERS)
    # Main may have any of it, and rows would come twice.
    with pytest.raises(Refused, match=about("last merge", "gone")):
        planned(context, "merge-branch", name=archive)
    assert has_gone_on_whole(context, orders, rows)


def head(context: Context, root: Root) -> Point:
    newest = Lineage(context.files, root).latest()
    assert newest is not None
    return point_of(newest)
