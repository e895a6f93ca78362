"""A branch becomes main: its files stay, the past moves along, and the previous main is kept whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.errors import NotFound, Refused, Unavailable, UsageError
from paimark.core.storage.files import Files
from paimark.core.table.layout import BARRIER
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, main_root
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.version import resolve_version
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
from tests.actions.taking_over import add, branched, left_stray, main_rows, rows_of
from tests.faults.fault_files import Death, FaultFiles
from tests.paimon import open_table
from tests.storage.wrapped import Wrapped
from tests.wording import about

ACTION = "replace-main-branch"
NEVER = "2147483647"


def replaced(context: Context, name: str = "fix") -> str | None:
    """Make the branch main; the name that the previous main is kept under."""
    kept = done(context, ACTION, name=name).result["previous_main"]
    return None if kept is None else str(kept)


def test_main_reads_the_branch_and_the_previous_main_is_kept_whole(context: Context, orders: Path) -> None:
    old = rows_of(context, ORDERS.root())
    before = contents(orders)
    fix = branched(context)
    fixed = rows_of(context, fix)

    archive = replaced(context)

    assert (orders / "branch/MAIN-BRANCH").read_text() == "fix"
    assert main_root(context.files, ORDERS) == fix
    assert main_rows(context) == fixed != old
    assert archive is not None and rows_of(context, ORDERS.root(archive)) == old
    kept = contents(orders / f"branch/branch-{archive}")
    assert {path: before[path] for path in kept if not path.startswith("schema/")} == {
        path: data for path, data in kept.items() if not path.startswith("schema/")
    }
    assert not (orders / "branch/ACTION").exists()


def test_nothing_of_the_previous_main_stays_in_the_table_directory_but_guards(
    context: Context, orders: Path
) -> None:
    branched(context)
    done(context, "create-tag", name="late", snapshot=5)
    done(context, "create-tag", name="checked", branch="fix", retain="9 d")
    replaced(context)

    assert sorted(path.name for path in (orders / "snapshot").iterdir()) == ["LATEST", BARRIER]
    assert [path.name for path in (orders / "schema").iterdir()] == ["schema-0"]
    [line] = (orders / "schema/schema-0").read_text().splitlines()
    assert line.startswith("MAIN_OF_THIS_TABLE_IS_NOW_ITS_BRANCH_fix: ")
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(line)
    assert sorted(path.name for path in (orders / "tag").iterdir()) == ["tag-checked", "tag-v2"]
    own = msgspec.json.decode((orders / "branch/branch-fix/tag/tag-checked").read_bytes())
    guard = msgspec.json.decode((orders / "tag/tag-checked").read_bytes())
    assert own.pop("tagTimeRetained") and own.pop("tagCreateTime")
    assert guard == own
    assert guard_tags.mismatches(context.files, ORDERS) == []


def test_the_branchs_own_files_are_not_moved_or_rewritten(context: Context, orders: Path) -> None:
    branched(context)
    before = contents(orders / "branch/branch-fix")
    replaced(context)
    after = contents(orders / "branch/branch-fix")
    assert {path: after[path] for path in before if path != "snapshot/EARLIEST"}.items() <= before.items()
    assert sorted(after.keys() - before.keys()) == ["snapshot/snapshot-1"]


def test_the_past_before_the_fork_moves_along_byte_for_byte(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=1)
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint")
    fix = branched(context, tag="savepoint.2")
    before = contents(orders)
    plan = planned(context, ACTION, name="fix")
    applied(context, plan)

    assert Lineage(context.files, fix).snapshot_ids() == [1, 2, 3, 4]
    assert Lineage(context.files, fix).earliest_id() == 1
    after = contents(orders / "branch/branch-fix")
    for path in ("snapshot/snapshot-1", "snapshot/snapshot-2", "tag/tag-savepoint.1", "tag/tag-v2"):
        assert after[path] == before[path]
    assert [each.id for each in SavepointManager(context.files, ORDERS).of_root(fix)] == [1, 2]
    assert resolve_version(context.files, fix, "snapshot.1").snapshot.id == 1
    assert "; savepoint 1; " in plan.kept[0]
    assert item(plan, "savepoints-leave-main").names == ("3",)


def test_several_savepoints_are_told_as_several(context: Context) -> None:
    for snapshot in (1, 2, 4, 5):
        done(context, "create-savepoint", snapshot=snapshot)
    done(context, "create-tag", name="third", snapshot=3)
    branched(context, tag="third")
    plan = planned(context, ACTION, name="fix")
    assert "; savepoints 1 and 2; " in plan.kept[0]
    leave = item(plan, "savepoints-leave-main").text
    assert about("savepoints 3 and 4", "main", "after the fork", "they stay").search(leave)


def test_a_branch_that_expired_its_own_past_gets_tags_only(context: Context) -> None:
    fix = branched(context)
    add(context, "shop.orders$branch_fix", 101)
    for number in (2, 3):
        context.files.delete(fix.snapshot(number))
    done(context, "create-tag", name="first", snapshot=1)
    plan = planned(context, ACTION, name="fix")
    applied(context, plan)
    assert Lineage(context.files, fix).snapshot_ids() == [4]
    assert Lineage(context.files, fix).tag_names() == ["first", "v2"]
    assert item(plan, "version-gone").is_grave


def test_stock_retention_is_off_on_every_root_and_main_gets_its_own_back(
    context: Context, warehouse: Path, orders: Path
) -> None:
    open_table(warehouse, "shop.orders").branch_manager().create_branch("stock", "v2")
    before = (orders / "schema/schema-0").read_bytes()
    archive = replaced(context, "stock")
    for name in ("stock", archive):
        schema = Lineage(context.files, ORDERS.root(name)).latest_schema()
        assert schema is not None
        assert schema.options["snapshot.num-retained.max"] == NEVER
        assert schema.options["snapshot.num-retained.min"] == NEVER
    done(context, "undo")
    assert (orders / "schema/schema-0").read_bytes() == before


def test_main_can_be_replaced_again_and_again(context: Context) -> None:
    old = main_rows(context)
    branched(context, "one", order_id=101)
    branched(context, "two", order_id=102)
    archive = replaced(context, "one")
    assert replaced(context, "two") == "one"
    assert {"order_id": 102, "customer": "new", "price": 1.0} in main_rows(context)
    assert sorted(branch_names(context.files, ORDERS)) == sorted([archive or "", "one", "two"])
    assert guard_tags.mismatches(context.files, ORDERS) == []
    assert replaced(context, str(archive)) == "two"
    assert main_rows(context) == old
    assert len(undoable(context, ORDERS)) == 3


def test_new_tags_and_savepoints_of_the_new_main_are_guarded(context: Context, orders: Path) -> None:
    branched(context)
    replaced(context)
    done(context, "create-tag", name="fresh", retain="5 d")
    savepoint = done(context, "create-savepoint").result["savepoint_id"]
    assert savepoint == 1
    assert (orders / "tag/tag-fresh").exists()
    assert (orders / "tag/tag-savepoint.1").read_bytes() == (
        orders / "branch/branch-fix/tag/tag-savepoint.1"
    ).read_bytes()
    assert guard_tags.mismatches(context.files, ORDERS) == []
    done(context, "delete-savepoint", id=1)
    done(context, "delete-tag", name="fresh")
    assert sorted(path.name for path in (orders / "tag").iterdir()) == ["tag-v2"]


def test_the_main_branch_again_is_nothing_to_do(context: Context, orders: Path) -> None:
    assert planned(context, ACTION, name="main").empty
    branched(context)
    replaced(context)
    before = contents(orders)
    plan = planned(context, ACTION, name="fix")
    assert plan.empty and not plan.refusals
    assert about("branch fix", "shop.orders", "main already").search(applied(context, plan).message)
    assert contents(orders) == before


def test_an_expiry_with_arguments_is_warned_of_whichever_branch_is_main(context: Context) -> None:
    branched(context, "one", order_id=101)
    branched(context, "two", order_id=102)
    replaced(context, "one")
    plan = planned(context, ACTION, name="two")
    assert about("main", "`shop.orders$branch_two`", "`CALL expire_snapshots`", "files").search(
        item(plan, "stock-stays").text
    )


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_expiry_with_arguments_is_warned_of_whoever_committed(
    context: Context, orders: Path, is_seen: bool
) -> None:
    branched(context)
    if not is_seen:
        for path in (orders / "snapshot").glob("snapshot-*"):
            snapshot = msgspec.json.decode(path.read_bytes())
            path.write_bytes(msgspec.json.encode({**snapshot, "commitUser": "paimark-sql"}))
    plan = planned(context, ACTION, name="fix")
    said = item(plan, "stock-seen" if is_seen else "stock-unseen").text
    assert about("`shop.orders$branch_fix`", "`CALL expire_snapshots`", "files").search(said)
    dropping = planned(context, ACTION, name="fix", drop_previous=True)
    assert "CALL" not in " ".join(texts(dropping))


def test_the_plan_says_first_what_is_lost_and_then_who_will_notice(context: Context, orders: Path) -> None:
    (orders / "consumer").mkdir()
    (orders / "consumer/consumer-job").write_text('{"nextSnapshot": 4}')
    branched(context)
    plan = planned(context, ACTION, name="fix")
    assert about("branch fix", "main", "shop.orders").search(plan.headline)
    assert codes(plan) == ["commits-leave-main", "consumer-gone", "stock-seen"]
    assert [each.is_grave for each in plan.lines[:3]] == [True, True, False]
    assert (plan.lines[0].count, item(plan, "consumer-gone").names) == (3, ("job",))
    seen = item(plan, "stock-seen").text
    assert re.search(r"pypaimon 2\.1\.0 .*\bshop\.orders (now|\d+ .* ago)\b", seen)
    assert about("stock engines", "readers").search(seen)
    assert plan.ask.phrase == "fix"
    assert plan.undo == "paimark undo shop.orders"
    said = [f"{step.verb} {step.target}: {step.detail}" for step in plan.steps]
    assert about("copy branch fix", "snapshots 1 to 1", "main", "before the fork").search(said[0])
    today = datetime.now(UTC).strftime("%Y%m%d")
    assert about("move the previous main", f"branch main-{today}T*").search(said[1])
    assert "5 snapshots, 1 tag, 1 schema, 1 consumer; no data" in said[1]
    assert not any(step.verb == "delete" for step in plan.steps)
    archive = replaced(context)
    assert (orders / f"branch/branch-{archive}/consumer/consumer-job").exists()
    assert not (orders / "consumer").exists()


def test_what_moved_since_the_plan_is_refused_with_both_states(context: Context, orders: Path) -> None:
    branched(context)
    plan = planned(context, ACTION, name="fix")
    add(context, "shop.orders", 200)
    with pytest.raises(Refused) as refused:
        applied(context, plan)
    then, now = "main at snapshot 5 and fix at snapshot 3", "main at snapshot 6 and fix at snapshot 3"
    assert about("shop.orders", "plan", f"then {then}", f"now {now}").search(refused.value.message)
    assert about("nothing", "pypaimon 2.1.0", "main", "pause", "new plan").search(refused.value.hint)
    assert sorted(path.name for path in (orders / "branch").iterdir()) == ["branch-fix", "operations"]
    assert len(Lineage(context.files, ORDERS.root()).snapshot_ids()) == 6


def test_what_main_would_lose_since_the_branch_expired_its_past_is_refused(context: Context) -> None:
    branched(context)
    add(context, "shop.orders$branch_fix", 201)
    plan = planned(context, ACTION, name="fix")
    done(context, "expire-snapshots", branch="fix", retain_last=1)
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        applied(context, plan)
    assert "version-gone" in codes(planned(context, ACTION, name="fix"))


def test_a_branch_that_others_made_main_since_the_plan_is_named_as_main(context: Context) -> None:
    branched(context)
    plan = planned(context, ACTION, name="fix")
    done(context, ACTION, name="fix")
    with pytest.raises(Refused, match=about("now fix is main")) as refused:
        applied(context, plan)
    # Nobody wrote to it.
    assert "pause" not in refused.value.hint


def test_what_a_job_commits_to_the_branch_after_the_plan_is_main_too(context: Context) -> None:
    branched(context)
    plan = planned(context, ACTION, name="fix")
    exact = planned(context, ACTION, name="fix", up_to=3)
    add(context, "shop.orders$branch_fix", 201)
    with pytest.raises(Refused, match="now main at snapshot 5 and fix at snapshot 4") as refused:
        applied(context, exact)
    # Nobody wrote to main.
    assert "pause" not in refused.value.hint
    applied(context, plan)
    assert Lineage(context.files, main_root(context.files, ORDERS)).latest_id() == 4


def test_a_commit_to_main_during_the_replacement_takes_everything_back(
    context: Context, warehouse: Path, orders: Path
) -> None:
    branched(context)
    before = contents(orders)
    late = Meanwhile(context.files, "snapshot/LATEST", lambda: add(context, "shop.orders", 300))
    with pytest.raises(Refused, match="now main at snapshot 6 and fix at snapshot 3"):
        done(context_on(warehouse, late), ACTION, name="fix")
    after = contents(orders)
    assert before.keys() <= after.keys()
    assert {path.partition("/")[0] for path in after.keys() - before.keys()} <= {
        *("snapshot", "manifest", "bucket-0", "bucket-1")
    }
    assert planned(context, "recover").empty


def test_a_commit_to_the_branch_during_the_replacement_goes_along(context: Context, warehouse: Path) -> None:
    fix = branched(context)
    late = Meanwhile(
        context.files, "snapshot/LATEST", lambda: add(context, "shop.orders$branch_fix", 300, "late")
    )
    done(context_on(warehouse, late), ACTION, name="fix")
    assert Lineage(context.files, fix).latest_id() == 4
    assert {"order_id": 300, "customer": "late", "price": 1.0} in main_rows(context)


def test_tags_of_one_name_at_two_snapshots_are_refused_and_listed(context: Context) -> None:
    branched(context)
    done(context, "create-tag", name="done", snapshot=1)
    done(context, "create-tag", name="done", branch="fix")
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("tags", "done", "snapshot 1 of main", "3 of the branch").search(refusal.reason)


def test_what_cannot_be_read_does_not_become_main(context: Context, warehouse: Path) -> None:
    with pytest.raises(NotFound, match="no branch nope"):
        planned(context, ACTION, name="nope")
    with pytest.raises(UsageError, match="layout"):
        planned(context, ACTION, name="fix", layout="sideways")
    open_table(warehouse, "shop.orders").branch_manager().create_branch("empty")
    [refusal] = planned(context, ACTION, name="empty").refusals
    assert about("empty of shop.orders", "no snapshot").search(refusal.reason)
    fix = branched(context)
    newest = Lineage(context.files, fix).latest()
    assert newest is not None
    context.files.delete(ORDERS.manifest(newest.delta_manifest_list))
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("fix of shop.orders", "read", newest.delta_manifest_list).search(refusal.reason)


def test_a_data_file_that_is_gone_is_named(context: Context, orders: Path) -> None:
    known = contents(orders)
    branched(context)
    [data] = [path for path in contents(orders).keys() - known.keys() if path.endswith(".parquet")]
    (orders / data).unlink()
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert data in refusal.reason


def test_a_savepoint_being_made_on_main_is_waited_for(context: Context, warehouse: Path) -> None:
    branched(context)
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(context.files, 2)), "create-savepoint")
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("savepoint 1", "main", "being made").search(refusal.reason)
    done(context, "recover")
    replaced(context)


def test_who_is_killed_half_way_blocks_others_until_recovered(context: Context, warehouse: Path) -> None:
    branched(context)
    with pytest.raises(Death):
        done(context_on(warehouse, FaultFiles(context.files, 4)), ACTION, name="fix")
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("shop.orders", "interrupted replace-main-branch").search(refusal.reason)
    done(context, "recover")
    replaced(context)


def test_a_failure_after_the_point_of_no_return_says_to_recover(
    context: Context, warehouse: Path, orders: Path
) -> None:
    branched(context)

    class Full(Wrapped):
        def replace(self, path: str, data: bytes) -> None:
            if path.endswith("schema-0"):
                raise Unavailable("The disk is full")
            super().replace(path, data)

    with pytest.raises(Unavailable) as failed:
        done(context_on(warehouse, Full(context.files)), ACTION, name="fix")
    assert "recover" in failed.value.hint
    assert main_root(context.files, ORDERS) == ORDERS.root("fix")
    done(context, "recover")
    assert sorted(path.name for path in (orders / "snapshot").iterdir()) == ["LATEST", BARRIER]
    assert guard_tags.mismatches(context.files, ORDERS) == []


def test_a_dropped_main_frees_what_only_it_kept(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=1)
    fix = branched(context)
    fixed = rows_of(context, fix)
    plan = planned(context, ACTION, name="fix", drop_previous=True)
    before = contents(orders)
    assert applied(context, plan).result["previous_main"] is None
    after = contents(orders)
    data = [path for path in before.keys() - after.keys() if path.startswith(("bucket", "manifest"))]
    assert len(data) == plan.freed_files > 0
    assert sum(len(before[path]) for path in data) == plan.freed_bytes
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert main_rows(context) == fixed
    assert [each.id for each in SavepointManager(context.files, ORDERS).of_root(fix)] == [1]
    assert resolve_version(context.files, fix, "savepoint.1").snapshot.id == 1
    [refusal] = planned(context, "undo").refusals
    assert about("main", "branch fix", "dropped").search(refusal.reason)


class JustBefore(Wrapped):
    """A store on which somebody else does something right before a file is replaced."""

    def __init__(self, inner: Files, path: str, deed: Callable[[], object]) -> None:
        super().__init__(inner)
        self._path = path
        self._deed = deed

    def replace(self, path: str, data: bytes) -> None:
        if path == self._path:
            self._deed()
        super().replace(path, data)


@pytest.mark.parametrize("what", ["savepoint", "tag", "commit"])
def test_what_main_got_at_the_last_moment_is_not_dropped(
    context: Context, warehouse: Path, what: str
) -> None:
    branched(context)
    stock = open_table(warehouse, "shop.orders")
    deeds: dict[str, Callable[[], object]] = {
        "savepoint": lambda: done(context, "create-savepoint"),
        "tag": lambda: stock.create_tag("late", 5),
        "commit": lambda: add(context, "shop.orders", 900),
    }
    racing = JustBefore(context.files, ORDERS.main_branch_file, deeds[what])
    outcome = done(context_on(warehouse, racing), ACTION, name="fix", drop_previous=True)
    [kept] = texts(outcome, "keeps")
    assert about("committed" if what == "commit" else "made", "meanwhile").search(kept)
    assert outcome.undo == "paimark undo shop.orders"
    archive = ORDERS.root(str(outcome.result["previous_main"]))
    assert len(rows_of(context, archive)) == (9 if what == "commit" else 8)
    if what == "savepoint":
        assert [each.id for each in SavepointManager(context.files, ORDERS).of_root(archive)] == [1]
    done(context, "undo")
    assert main_root(context.files, ORDERS) == ORDERS.root()


def test_dropping_main_never_loses_a_savepoint(context: Context) -> None:
    done(context, "create-savepoint")
    branched(context)
    [refusal] = planned(context, ACTION, name="fix", drop_previous=True).refusals
    assert about("previous main", "lose", "savepoint 1").search(refusal.reason)
    replaced(context)
    branched(context, "next")
    [refusal] = planned(context, ACTION, name="next", drop_previous=True).refusals
    assert about("previous main", "branch fix", "stays").search(refusal.reason)


def test_commits_of_a_stale_writer_are_found(context: Context) -> None:
    branched(context)

    def replace_meanwhile() -> None:
        replaced(context)
        assert stray_commits(context.files, ORDERS) == []

    left_stray(context, replace_meanwhile)
    assert len(stray_commits(context.files, ORDERS)) == 1
    assert ORDERS.root() in all_roots(context.files, ORDERS)
    assert {"order_id": 900, "customer": "stale", "price": 1.0} not in main_rows(context)


def test_savepoints_expiry_branches_and_tags_follow_the_new_main(context: Context) -> None:
    fix = branched(context)
    archive = replaced(context)
    old = rows_of(context, ORDERS.root(archive))
    add(context, "shop.orders$branch_fix", 101)
    done(context, "create-savepoint", snapshot=3)
    third = rows_of(context, fix)
    done(context, "create-branch", name="next", tag="savepoint.1")
    done(context, "expire-snapshots", retain_last=1)
    assert Lineage(context.files, fix).snapshot_ids() == [4]
    assert main_rows(context) == third
    assert len(rows_of(context, ORDERS.root("next"))) == len(third) - 1
    assert rows_of(context, ORDERS.root(archive)) == old
    replaced(context, "next")
    assert len(main_rows(context)) == len(third) - 1
    assert guard_tags.mismatches(context.files, ORDERS) == []
    done(context, "delete-branch", name="fix", keep=True)
    done(context, "undo")
    done(context, "undo")
    done(context, "undo", replacement=True)
    assert main_rows(context) == old


def test_two_replacements_at_once_are_one_after_the_other_or_refused(context: Context) -> None:
    branched(context, "one", order_id=101)
    branched(context, "two", order_id=102)

    def replace(name: str) -> str:
        try:
            return str(done(context, ACTION, name=name).result["branch_name"])
        except Refused:
            return ""

    with ThreadPoolExecutor(2) as pool:
        made = [name for name in pool.map(replace, ["one", "two"]) if name]
    assert made
    assert len(undoable(context, ORDERS)) == len(made)
    assert main_root(context.files, ORDERS).label in made
    assert guard_tags.mismatches(context.files, ORDERS) == []
    assert planned(context, "recover").empty
