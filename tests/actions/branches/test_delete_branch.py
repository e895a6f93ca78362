"""A branch goes with the files that only it keeps: no more, and no fewer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import NotFound, Refused
from paimark.core.space.space import space
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names
from paimark.core.table.manifests.files import missing_of
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, applied, codes, contents, context_on, done, item, planned, texts
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.faults.fault_files import Film
from tests.faults.trees import TreeOnDisk
from tests.paimon import commit, open_table
from tests.wording import about

ACTION = "delete-branch"


def test_it_frees_exactly_what_only_it_kept(context: Context, orders: Path) -> None:
    before, rows = contents(orders), main_rows(context)
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    done(context, "create-tag", name="own", branch="fix")
    with_branch = contents(orders)
    plan = planned(context, ACTION, name="fix")
    assert plan.freed_files > 0
    outcome = applied(context, plan)
    assert contents(orders) == before
    assert main_rows(context) == rows
    new = {p: d for p, d in with_branch.items() if p not in before and not p.startswith("branch/")}
    assert outcome.result["freed_files"] == plan.freed_files == len(new)
    assert outcome.result["freed_bytes"] == plan.freed_bytes == sum(map(len, new.values()))


def test_the_plan_says_which_commits_go_and_whose_jobs_fail(context: Context) -> None:
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    plan = planned(context, ACTION, name="fix")
    assert about("delete", "branch fix", "shop.orders").search(plan.headline)
    assert codes(plan) == ["branch-writer-seen", "branch-commits-gone", "final"]
    lost = item(plan, "branch-commits-gone")
    assert (lost.count, lost.unit, lost.is_grave, plan.ask.phrase) == (2, "commits", True, "fix")
    assert lost.text.startswith("its 2 commits since snapshot 2 (2 records, newest ")
    assert about("--keep", "retires").search(item(plan, "final").text)
    kept = planned(context, ACTION, name="fix", keep=True)
    assert codes(kept) == ["branch-writer-seen", "name-gone"]
    assert (kept.ask.phrase, kept.undo) == ("fix", "paimark undo shop.orders")


def test_streams_that_read_the_branch_are_told(context: Context, orders: Path) -> None:
    branched(context)
    (readers := orders / "branch/branch-fix/consumer").mkdir()
    (readers / "consumer-nightly").write_text('{"nextSnapshot": 3}')
    plans = (
        planned(context, ACTION, name="fix"),
        planned(context, ACTION, name="fix", keep=True),
        planned(context, "rename-branch", name="fix", to="repair"),
    )
    assert all(item(plan, "streaming-readers").names == ("nightly",) for plan in plans)


@pytest.mark.parametrize("keep", [False, True])
def test_what_a_job_commits_that_did_not_know_is_named_with_what_to_do(
    context: Context, orders: Path, keep: bool
) -> None:
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    builder = open_table(context.files.uri, "shop.orders$branch_fix").new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    plan = planned(context, ACTION, name="fix", keep=keep)
    first = item(plan, "branch-writer-seen")
    assert first.kind == "first" and about("stop", "pypaimon 2.1.0").search(first.text)
    applied(context, plan)
    rows = {"order_id": [900], "customer": ["late"], "price": [1.0]}
    writer.write_arrow(pa.table(rows, schema=ORDERS_SCHEMA))
    committer.commit(writer.prepare_commit())
    told = [each for each in doctor._root(context, ORDERS.root("fix")) if each.state == "broken"]
    assert about("snapshots", "no schema").search(told[0].detail)
    assert about("stop", "job", "rows").search(told[0].hint)
    lost = item(planned(context, ACTION, name="fix"), "unread-commits")
    assert (lost.count, lost.is_grave) == (1, True)
    done(context, ACTION, name="fix")
    assert not (orders / "branch/branch-fix").exists()
    if keep:
        done(context, "undo")
        assert 900 not in [row["order_id"] for row in rows_of(context, ORDERS.root("fix"))]


def test_a_branch_that_lost_its_newest_snapshot_passes_for_no_shorter_one(
    context: Context, orders: Path
) -> None:
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    newest = Lineage(context.files, ORDERS.root("fix")).latest_id()
    (orders / f"branch/branch-fix/snapshot/snapshot-{newest}").unlink()
    sentence = about("branch fix", "shop.orders", "LATEST", "4", "3")
    actions: dict[str, dict[str, Any]] = {
        ACTION: {"name": "fix"},
        "create-tag": {"name": "end", "branch": "fix"},
        "create-savepoint": {"branch": "fix"},
    }
    for action, arguments in actions.items():
        assert sentence.search(item(planned(context, action, **arguments), "history-unclear").text)
    [refusal] = planned(context, "expire-snapshots", branch="fix", retain_last=1).refusals
    assert sentence.search(refusal.reason) and about("backup").search(refusal.hint)


def test_what_a_branch_was_made_with_is_not_of_its_jobs(context: Context) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    plan = planned(context, ACTION, name="fix")
    assert codes(plan) == ["name-gone", "final", "stock-unseen"]
    [lost] = texts(plan, "loses")
    assert about("name only", "main", "commits").search(lost) and not about("compactions").search(lost)


def test_a_compaction_is_no_commit_to_lose(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    snapshots = orders / "branch/branch-fix/snapshot"
    newest = json.loads((snapshots / "snapshot-2").read_text())
    compacted = {**newest, "id": 3, "commitKind": "COMPACT"}
    (snapshots / "snapshot-3").write_text(json.dumps(compacted))
    plan = planned(context, ACTION, name="fix")
    [lost] = texts(plan, "loses")
    assert about("name only", "main", "compactions").search(lost)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("option", ["scan.fallback-branch", "scan.primary-branch"])
def test_a_branch_that_another_is_read_with_stays(
    context: Context, orders: Path, option: str, keep: bool
) -> None:
    """Engines would leave its rows out of main, and say nothing."""
    branched(context)
    early = planned(context, ACTION, name="fix", keep=keep)
    done(context, "alter-branch-schema", set=f"{option} = fix")
    before = contents(orders)
    [refusal] = planned(context, ACTION, name="fix", keep=keep).refusals
    sentence = about("main", "shop.orders", "branch fix", option)
    assert sentence.search(refusal.reason)
    with pytest.raises(Refused, match=sentence):
        applied(context, early)
    assert contents(orders) == before
    done(context, "alter-branch-schema", unset=option)
    done(context, ACTION, name="fix", keep=keep)


def test_a_branch_keeps_the_past_that_main_expired_until_it_goes(context: Context, orders: Path) -> None:
    fix = branched(context)
    fixed = rows_of(context, fix)
    done(context, "expire-snapshots", retain_last=1)
    assert rows_of(context, fix) == fixed
    done(context, ACTION, name="fix")
    rows = main_rows(context)
    assert len(rows) == 8
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [5]


def test_a_sibling_from_the_same_tag_is_spared(context: Context) -> None:
    branched(context)
    other = branched(context, "other", order_id=102)
    rows = rows_of(context, other)
    done(context, ACTION, name="fix")
    assert rows_of(context, other) == rows


def test_the_archived_main_can_go_and_the_new_main_stays(context: Context) -> None:
    fix = branched(context)
    archive = done(context, "replace-main-branch", name="fix").result["previous_main"]
    rows = main_rows(context)
    done(context, ACTION, name=archive)
    assert all_roots(context.files, ORDERS) == [fix]
    assert main_rows(context) == rows


def test_main_is_never_deleted(context: Context) -> None:
    [refusal] = planned(context, ACTION, name="main").refusals
    assert refusal.reason == "main is main of shop.orders"
    branched(context)
    done(context, "replace-main-branch", name="fix")
    for name in ("fix", "main"):
        [refusal] = planned(context, ACTION, name=name).refusals
        assert refusal.reason == "fix is main of shop.orders"


def test_savepoints_that_only_it_holds_are_not_lost(context: Context) -> None:
    branched(context)
    done(context, "create-savepoint", branch="fix")
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert about("branch fix", "alone", "savepoint 1").search(refusal.reason)
    assert not planned(context, ACTION, name="fix", keep=True).refusals
    done(context, "delete-savepoint", id=1)
    done(context, ACTION, name="fix")


def test_a_branch_that_went_on_since_the_plan_is_not_deleted(context: Context) -> None:
    fix = branched(context)
    plan = planned(context, ACTION, name="fix")
    add(context, "shop.orders$branch_fix", 101)
    with pytest.raises(Refused, match=about("branch fix", "plan")):
        applied(context, plan)
    assert Lineage(context.files, fix).latest_id() == 4
    with pytest.raises(NotFound, match="no branch nope"):
        planned(context, ACTION, name="nope")


@pytest.mark.parametrize(("action", "more"), [(ACTION, {}), ("rename-branch", {"to": "new"})])
def test_a_branch_that_is_a_way_back_since_the_plan_stays(
    context: Context, action: str, more: dict[str, Any]
) -> None:
    """It was main meanwhile, and is as it was before."""
    done(context, "create-tag", name="first", snapshot=1)
    branched(context, "one", "first")
    branched(context, "two", "first", 200)
    done(context, "replace-main-branch", name="two")
    plan = planned(context, action, name="one", **more)
    for name in ("one", "two"):
        done(context, "replace-main-branch", name=name)
    with pytest.raises(Refused, match=about("branch one", "way back", "two becoming main")):
        applied(context, plan)
    assert not planned(context, "undo").refusals


def test_when_any_root_is_unreadable_nothing_is_deleted(context: Context, orders: Path) -> None:
    branched(context)
    branched(context, "other")
    (orders / "branch/branch-other/tag/tag-v2").write_bytes(b"{")
    [refusal] = planned(context, ACTION, name="fix").refusals
    assert "branch-other/tag/tag-v2" in refusal.reason


def test_what_another_engine_left_empty_can_go(context: Context, warehouse: Path, orders: Path) -> None:
    open_table(warehouse, "shop.orders").branch_manager().create_branch("empty")
    (orders / "branch/branch-hollow/schema").mkdir(parents=True)
    assert verify(context, ORDERS).is_whole and space(context, ORDERS).tells_orphans
    findings = [*doctor._table(GlobalOptions(warehouse=str(warehouse)), "shop.orders")]
    [finding] = [each for each in findings if each.check == "branch hollow" and each.state != "ok"]
    assert about("no schema", "remove_orphan_files").search(finding.detail)
    assert about("paimark delete-branch shop.orders --name hollow").search(finding.hint)
    done(context, "expire-snapshots", retain_last=2)
    done(context, "delete-tag", name="v2")
    for name in ("empty", "hollow"):
        done(context, ACTION, name=name)
    assert branch_names(context.files, ORDERS) == []


def test_a_retired_branch_keeps_everything_under_another_name(context: Context, orders: Path) -> None:
    fix = branched(context)
    rows = rows_of(context, fix)
    before = contents(orders)
    plan = planned(context, ACTION, name="fix", keep=True)
    assert [f"{step.verb} {step.target}" for step in plan.steps] == ["move branch fix"]
    outcome = applied(context, plan)
    retired = Root(ORDERS, str(outcome.result["retired_as"]))
    assert retired.label.startswith("retired-fix-")
    assert [f"{step.verb} {step.target}" for step in planned(context, "undo").steps] == [
        f"move branch {retired.label}"
    ]
    assert rows_of(context, retired) == rows
    after = contents(orders)
    unchanged = {path: data for path, data in before.items() if not path.startswith("branch/")}
    assert unchanged.items() <= after.items()
    assert outcome.undo == "paimark undo shop.orders"


def merged_and_gone(context: Context, warehouse: Path) -> str:
    """Main went on along `fix`, then lost all its rows; only the pin and the branch keep what they shared."""
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    done(context, "merge-branch", name="fix")
    done(context, "delete-savepoint", id=1)
    row = pa.table({"order_id": [1], "customer": ["x"], "price": [1.0]}, schema=ORDERS_SCHEMA)
    commit(warehouse, "shop.orders", row, overwrite=True)
    done(context, "expire-snapshots", retain_last=1)
    return "paimark.merge.fix.6"


def test_a_retired_branch_whose_schema_is_another_by_now_gets_its_name_back(
    context: Context, orders: Path
) -> None:
    """Another engine wrote it anew."""
    fix = branched(context)
    rows = rows_of(context, fix)
    retired = done(context, ACTION, name="fix", keep=True).result["retired_as"]
    schema = orders / f"branch/branch-{retired}/schema/schema-0"
    schema.write_bytes(schema.read_bytes() + b"\n")
    done(context, "undo")
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert rows_of(context, fix) == rows


def test_what_a_merge_pinned_goes_with_the_branch(context: Context, warehouse: Path, orders: Path) -> None:
    pin = merged_and_gone(context, warehouse)
    rows, before = main_rows(context), contents(orders)
    plan = planned(context, ACTION, name="fix")
    assert f"shop.db/orders/tag/tag-{pin}" in {step.target for step in plan.steps}
    outcome = applied(context, plan)
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["fork", "v2"]
    assert main_rows(context) == rows
    gone = [p for p in before if p not in contents(orders) and p.partition("/")[0] not in ("branch", "tag")]
    assert outcome.result["freed_files"] == plan.freed_files == len(gone) > 0
    assert [each for each in gone if each.startswith("bucket-")]


def test_a_pin_that_can_be_read_has_all_its_files_wherever_a_deletion_dies(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """And a recovery, which does not find a pin any more, deletes what only that kept."""
    pin, root = merged_and_gone(context, warehouse), ORDERS.root()
    film = Film(context.files, TreeOnDisk(orders))
    done(context_on(warehouse, film), ACTION, name="fix")
    after = contents(orders)
    kinds = set()
    for point in film.points():
        film.put_back(point)
        lineage = Lineage(context.files, root)
        if is_there := lineage.has_tag(pin):
            assert missing_of(context.files, root, lineage.tag(pin)) == [], point
        kinds.add((is_there, context.files.exists(ORDERS.journal)))
        if (False, True) in kinds and context.files.exists(ORDERS.journal):
            done(context, "recover")
            assert contents(orders) == after, point
    assert {(True, True), (False, True)} <= kinds


def test_a_pin_stays_while_somebody_may_need_it(context: Context, warehouse: Path) -> None:
    pin = merged_and_gone(context, warehouse)
    root = ORDERS.root()
    retired = str(done(context, ACTION, name="fix", keep=True).result["retired_as"])
    assert Lineage(context.files, root).has_tag(pin)
    # Another of its first name pins nothing yet, and takes nothing along.
    branched(context)
    done(context, ACTION, name="fix")
    assert Lineage(context.files, root).has_tag(pin)
    rows = rows_of(context, ORDERS.root(retired))
    assert len(rows) > 1
    done(context, ACTION, name=retired)
    assert not Lineage(context.files, root).has_tag(pin)


def test_a_pin_stays_where_only_a_tag_with_an_end_holds_its_commit_besides(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Branch `other` parts from main at the pinned commit: stock expiry spares it while main holds that."""
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    done(context, "merge-branch", name="fix")
    done(context, "create-tag", name="merged")
    branched(context, "other", "merged", 200)
    done(context, "create-tag", name="soon", retain="1 d")
    (orders / "tag/tag-merged").unlink()
    done(context, ACTION, name="fix")
    assert Lineage(context.files, ORDERS.root()).has_tag("paimark.merge.fix.6")
