"""Main ends at an earlier snapshot, and what came later is a branch, until it is taken back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import NO_DATA_FILE, Outcome
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import (
    ORDERS,
    NoWrites,
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
from tests.actions.undo.test_undo_replacement import of_main
from tests.spark.engine.test_reads import at
from tests.storage.wrapped import Wrapped
from tests.wording import about

ACTION = "rollback"


def truncated(context: Context, to: str = "v2") -> tuple[Outcome, Root]:
    outcome = done(context, ACTION, to=to, truncate=True)
    return outcome, ORDERS.root(str(outcome.result["archive"]))


def refusals(context: Context, to: str = "v2") -> str:
    return " | ".join(each.reason for each in planned(context, ACTION, to=to, truncate=True).refusals)


def ids(context: Context, root: Root) -> list[int]:
    return Lineage(context.files, root).snapshot_ids()


def test_main_ends_there_and_a_branch_has_the_rest(context: Context, warehouse: Path, orders: Path) -> None:
    for number in (1, 4, 5):
        done(context, "create-savepoint", snapshot=number)
    done(context, "create-tag", name="late", snapshot=3, retain="5 d")
    rows, then = main_rows(context), at(warehouse, "shop.orders", 2)
    watched = context_on(warehouse, NoWrites(context.files))
    plan = planned(watched, ACTION, to="v2", truncate=True)
    assert re.fullmatch(r"End main of shop\.orders at v2 \(snapshot 2, [-0-9]+ [0-9:]+\)\.", plan.headline)
    assert codes(plan) == ["stop-writers", "commits-leave-main", "name-gone"]
    assert all(each.is_grave for each in plan.lines[:3])
    stop, lost, tags = texts(plan, "first", "loses")
    assert about("stop every job", "main", "pypaimon 2.1.0", "no stock remove_orphan_files").search(stop)
    assert about("main", "ids 3 to 5").search(lost)
    assert item(plan, "commits-leave-main").count == 3
    assert tags == "savepoints 2 and 3, tag late, from main"
    # Nothing is lost, so nothing is said to be deleted.
    assert [f"{step.verb} {step.target}" for step in plan.steps[2:]] == [
        "move snapshots 3 to 5",
        "move 3 tags: late, savepoint.2, savepoint.3",
    ]
    archive = ORDERS.root(str(applied(context, plan).result["archive"]))
    assert ids(context, ORDERS.root()) == [1, 2]
    assert ids(context, archive) == [2, 3, 4, 5]
    assert rows_of(context, archive) == rows
    assert main_rows(context) == sorted(then, key=lambda row: row["order_id"])
    manager = SavepointManager(context.files, ORDERS)
    assert [each.id for each in manager.of_root(ORDERS.root())] == [1]
    assert [each.id for each in manager.of_root(archive)] == [2, 3]
    assert set(Lineage(context.files, ORDERS.root()).tag_names()) == {
        "savepoint.1",
        "v2",
        f"paimark.truncate.{archive.label}.2",
    }
    schema = Lineage(context.files, archive).latest_schema()
    assert schema is not None and schema.options["snapshot.num-retained.max"] == "2147483647"


def test_it_is_taken_back_byte_for_byte(context: Context, orders: Path) -> None:
    for number in (1, 4):
        done(context, "create-savepoint", snapshot=number)
    before, rows = contents(orders), main_rows(context)
    outcome, _ = truncated(context)
    assert outcome.undo == "paimark undo shop.orders"
    [step] = planned(context, "undo").steps
    assert (step.verb, step.target) == ("move", "snapshots 3 to 5 and 1 tag")
    assert step.detail.endswith(NO_DATA_FILE)
    done(context, "undo")
    assert contents(orders) == before
    assert main_rows(context) == rows
    assert undoable(context) == []


def test_one_after_another_is_taken_back_as_far_as_ids_go(context: Context) -> None:
    truncated(context)
    add(context, "shop.orders", 900)
    rows = main_rows(context)
    truncated(context, "snapshot.2")
    assert "Branch main-" in refusals(context, "snapshot.1")
    done(context, "undo")
    assert main_rows(context) == rows
    # The first one's ids are given again.
    [refusal] = planned(context, "undo").refusals
    assert about("shop.orders", "no change", "taken back").search(refusal.reason)


def test_ids_given_again_mix_nothing(context: Context, orders: Path) -> None:
    rows = main_rows(context)
    _, archive = truncated(context)
    then = main_rows(context)
    add(context, "shop.orders", 900)
    assert [row for row in main_rows(context) if row["order_id"] != 900] == then
    assert rows_of(context, archive) == rows
    [refusal] = planned(context, "undo").refusals
    then_and_now = about("then at snapshot 2", "now main at snapshot 3")
    assert about("main", "shop.orders", "since rollback to v2").search(refusal.reason)
    assert then_and_now.search(refusal.reason)
    # Its files are counted: what main expires, the branch keeps.
    done(context, "expire-snapshots", retain_last=1)
    assert rows_of(context, archive) == rows
    fork = done(context, "delete-branch", name=archive.label)
    assert fork.result["freed_files"]
    assert len(main_rows(context)) == len(then) + 1
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["v2"]


def test_an_archive_that_went_on_is_not_put_back(context: Context) -> None:
    _, archive = truncated(context)
    add(context, f"shop.orders$branch_{archive.label}", 901)
    [refusal] = planned(context, "undo").refusals
    assert about(f"branch {archive.label}", "shop.orders", "gone on", "rollback to v2").search(refusal.reason)


def test_an_archive_that_expired_is_not_promised_and_undo_goes_on(context: Context) -> None:
    done(context, "create-branch", name="fix", tag="v2")
    _, archive = truncated(context)
    done(context, "expire-snapshots", branch=archive.label, retain_last=1)
    assert ids(context, archive) == [5]
    plan = planned(context, "undo")
    lost = about(f"branch {archive.label}", "lost", "commits", "rollback to v2")
    assert plan.arguments["undone"] == "create-branch"
    assert any(lost.search(each) and about("stays").search(each) for each in texts(plan, "not"))
    applied(context, plan)
    [refusal] = planned(context, "undo").refusals
    by = f"paimark replace-main-branch shop.orders --name {archive.label}"
    assert lost.search(refusal.reason) and about(f"`{by}`").search(refusal.hint)


def test_an_archive_that_expired_still_gives_main_its_rows(context: Context) -> None:
    rows = main_rows(context)
    _, archive = truncated(context)
    done(context, "expire-snapshots", branch=archive.label, retain_last=1)
    done(context, "replace-main-branch", name=archive.label)
    assert main_rows(context) == rows


def test_a_tag_made_on_the_archive_is_not_lost_with_it(context: Context) -> None:
    """Of the snapshot where main was cut, which main has too, but not under this tag."""
    _, archive = truncated(context)
    # As another engine does: the log of operations knows nothing of it.
    context.files.create(archive.tag("checked"), context.files.read(archive.snapshot(2)))
    [refusal] = planned(context, "undo").refusals
    assert about(f"branch {archive.label}", "tag checked", "main").search(refusal.reason)
    context.files.delete(archive.tag("checked"))
    done(context, "undo")


def test_what_was_merged_after_it_can_be_merged_again(context: Context) -> None:
    branched(context, tag=_tagged(context, 5))
    done(context, "merge-branch", name="fix")
    rows = main_rows(context)
    assert planned(context, "merge-branch", name="fix").empty
    _, archive = truncated(context, "snapshot.5")
    assert len(main_rows(context)) == len(rows) - 1
    plan = planned(context, "merge-branch", name="fix")
    assert plan.arguments["kind"] == "fast-forward" and not plan.refusals
    done(context, "undo")
    assert branch_names(context.files, ORDERS) == ["fix"]
    assert planned(context, "merge-branch", name="fix").empty
    assert main_rows(context) == rows
    # The merge before it is the next to be taken back.
    assert [each.description for each in undoable(context, ORDERS)] == ["merge-branch of fix"]
    assert archive.label not in branch_names(context.files, ORDERS)


def _tagged(context: Context, number: int) -> str:
    done(context, "create-tag", name=f"of-{number}", snapshot=number)
    return f"of-{number}"


def test_what_would_be_left_behind_is_refused(context: Context, orders: Path) -> None:
    branched(context, "early")
    assert refusals(context) == ""
    branched(context, "late", tag=_tagged(context, 4))
    assert about("branch late", "shop.orders", "main", "snapshot 2").search(refusals(context))
    (orders / "consumer").mkdir()
    (orders / "consumer/consumer-job").write_text('{"nextSnapshot": 6}')
    (orders / "consumer/consumer-behind").write_text('{"nextSnapshot": 5}')
    assert about("consumer job", "shop.orders", "reads", "gone").search(refusals(context, "snapshot.4"))
    assert not about("behind").search(refusals(context, "snapshot.4"))
    done(context, "create-savepoint", snapshot=1)
    for number in (1, 2):
        (orders / f"snapshot/snapshot-{number}").unlink()
    assert about("snapshot 1", "shop.orders", "expired").search(refusals(context, "savepoint.1"))
    done(context, "replace-main-branch", name="late")
    assert about("main", "shop.orders", "branch late").search(refusals(context, "of-4"))
    assert planned(context_on(orders.parents[1], read_only=True), ACTION, to="of-4", truncate=True).refusals


class Racing(Wrapped):
    """A store on which somebody else commits right before, or after, a snapshot is deleted."""

    def __init__(self, inner: Files, number: int, deed: Callable[[], None], *, before: bool) -> None:
        super().__init__(inner)
        self._name, self._deed, self._before = f"snapshot-{number}", deed, before

    def delete(self, path: str) -> None:
        is_it = path.endswith(f"/snapshot/{self._name}")
        if is_it and self._before:
            self._deed()
        self.inner.delete(path)
        if is_it and not self._before:
            self._deed()


@pytest.mark.parametrize(("number", "committed", "before"), [(5, 6, True), (4, 5, True), (3, 4, False)])
def test_a_commit_meanwhile_stays_with_what_it_stands_on(
    context: Context, warehouse: Path, orders: Path, number: int, committed: int, before: bool
) -> None:
    theirs = orders / f"snapshot/snapshot-{committed}"
    newest = (orders / "snapshot/snapshot-5").read_text().replace('"id": 5', f'"id": {committed}')
    data = newest.replace("manifest-list-", "manifest-list-x")

    def deed() -> None:
        theirs.write_text(data)

    racing = context_on(warehouse, Racing(context.files, number, deed, before=before))
    rows = {each: at(warehouse, "shop.orders", each) for each in range(1, 6)}
    outcome = done(racing, ACTION, to="v2", truncate=True)
    assert ids(context, ORDERS.root()) == list(range(1, committed + 1))
    assert theirs.read_text() == data
    assert outcome.result["snapshot_id"] == committed - 1
    assert outcome.undo == ""
    # Below it main is as it was, and what main lacks the branch has.
    for each in range(1, committed):
        assert at(warehouse, "shop.orders", each) == rows[each]
    if outcome.result["archive"] is not None:
        assert ids(context, ORDERS.root(str(outcome.result["archive"]))) == [*range(committed - 1, 6)]
    else:
        assert branch_names(context.files, ORDERS) == []
    assert planned(context, "recover").empty


def test_what_moved_since_the_plan_is_refused(context: Context, orders: Path) -> None:
    plan = planned(context, ACTION, to="v2", truncate=True)
    add(context, "shop.orders", 900)
    before = of_main(orders)
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        applied(context, plan)
    assert of_main(orders) == before
    assert branch_names(context.files, ORDERS) == []


def test_main_never_ends_at_a_snapshot_that_an_expiry_began_to_delete(context: Context, orders: Path) -> None:
    record = Lineage(context.files, ORDERS.root()).snapshot(3)
    (orders / "manifest" / record.delta_manifest_list).unlink()
    [refusal] = planned(context, "rollback", to="snapshot.3", truncate=True).refusals
    assert about("snapshot 3", "shop.orders", "not whole").search(refusal.reason)


def test_the_plan_names_the_definition_only_where_it_differs_and_a_snapshot_once(
    context: Context, orders: Path
) -> None:
    plan = planned(context, ACTION, to="snapshot.2", truncate=True)
    assert plan.headline.count("2 (") == 1 and plan.headline.startswith(
        "End main of shop.orders at snapshot.2 ("
    )
    assert not any(map(about("columns").search, plan.kept))
    done(context, "alter-branch-schema", add="note STRING")
    plan = planned(context, ACTION, to="snapshot.2", truncate=True)
    assert any(map(about("columns").search, plan.kept))
