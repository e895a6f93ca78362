"""A run of a streaming query is one operation: its batches, snapshots and rows, and how to take it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.change.operations import stacks_of
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.edits import NO_ROWS, Edits, RowsEdit
from paimark.core.table.operations import Operation, append, log_entries, read_operations
from paimark.core.table.records import point_of
from paimark.core.table.system_tables import system_table
from tests.actions.acting import context_on, done, item, planned
from tests.faults.fault_files import Death
from tests.spark.micro_batches import lineage
from tests.spark.streaming.sink import LOG, Sink, ids, other_commits, shop
from tests.wording import about

__all__ = ["shop"]


def logged(warehouse: Path) -> list[Operation]:
    return read_operations(LocalFiles(str(warehouse)), LOG)


def summaries(warehouse: Path) -> list[str]:
    return [str(row[2]) for row in system_table("operations").read(LocalFiles(str(warehouse)), LOG.root())]


def test_a_run_is_one_operation_for_all_its_batches(shop: Path) -> None:
    sink = Sink(shop)
    sink.batch(0, [1, 2])
    sink.batch(1, [])
    sink.batch(2, [3])
    [run] = logged(shop)
    assert (run.action, run.before, run.after) == (
        "write-stream",
        "main had no snapshot",
        "main at snapshot 2",
    )
    committed = ("batches 0 to 2", "snapshots 1 to 2", "shop.log", "3 rows added")
    assert about(sink.query, *committed).search(run.summary)
    assert run.landed and run.records_added == 3
    assert run.turned.rows is not None and (run.turned.rows.commits, run.turned.rows.before) == (2, None)
    [said] = summaries(shop)
    assert said.startswith(run.summary) and about("end", "log", "died").search(said)
    assert len(log_entries(LocalFiles(str(shop)), LOG)) == 1


def test_the_next_run_notes_that_the_one_before_is_over(shop: Path) -> None:
    sink = Sink(shop)
    for name, batch in (("first", 0), ("first", 1), ("second", 2)):
        sink.run = name
        sink.batch(batch, [batch])
    first, second = logged(shop)
    assert first.stream is not None and first.stream.is_over
    assert second.stream is not None and not second.stream.is_over
    assert (first.stream.last, second.stream.first, second.before) == (1, 2, "main at snapshot 2")
    over, open_ = summaries(shop)
    assert not about("died").search(over) and about("end", "log", "died").search(open_)


def test_the_plan_of_its_undo_goes_to_the_snapshot_before_its_first_batch(shop: Path) -> None:
    other_commits(shop, 90)
    sink = Sink(shop)
    for batch in range(3):
        sink.batch(batch, [batch])
    plan = planned(context_on(shop), "undo", LOG)
    taken = ("write-stream", "snapshots 2 to 4", "main of shop.log", "snapshot 1")
    assert about("take back", *taken).search(plan.headline)
    assert item(plan, "stop-writers").kind == "first"
    other_commits(shop, 91)
    [refusal] = planned(context_on(shop), "undo", LOG).refusals
    assert about("main of shop.log", "moved", "write-stream", "snapshots 2 to 4").search(refusal.reason)
    assert "paimark rollback shop.log --to snapshot.1" in refusal.hint
    sink.batch(3, [3])
    [refusal] = planned(context_on(shop), "undo", LOG).refusals
    between = ("main of shop.log", "between", "write-stream", "snapshots 2 to 6")
    assert about("others", *between).search(refusal.reason)
    assert "paimark rollback shop.log --to snapshot.1" in refusal.hint


@pytest.mark.parametrize("is_confirmed", [True, False], ids=["confirmed", "not confirmed"])
def test_a_killed_run_is_in_the_log_up_to_its_last_commit(
    shop: Path, monkeypatch: pytest.MonkeyPatch, is_confirmed: bool
) -> None:
    sink = Sink(shop)
    sink.run = "first"
    sink.batch(0, [1])
    replace = LocalFiles.replace

    def dies(files: LocalFiles, path: str, data: bytes) -> None:
        if "/operations/write-" in path or "/STREAM-" in path:
            raise Death(path)
        replace(files, path, data)

    messages = sink.write([2])
    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(LocalFiles, "replace", dies)
        sink.commit(1, messages)
    [killed] = logged(shop)
    assert killed.landed and killed.after == "main at snapshot 2" and killed.records_added == 2
    # The next run writes batch 1 again, which has landed, and goes on.
    sink.run = "second"
    sink.batch(1, [2])
    sink.batch(2, [3])
    assert ids(shop) == [1, 2, 3]
    first, second = logged(shop)
    assert (first.after, second.before) == ("main at snapshot 2", "main at snapshot 2")
    undo = [each.turned.rows for each in stacks_of(LocalFiles(str(shop)), LOG).undo]
    assert [each.after.id for each in undo if each] == [2, 3]


def test_batches_after_the_undo_of_a_run_are_not_passed_over_in_silence(shop: Path) -> None:
    """The stream was not stopped, and its next batch came after the undo's commit."""
    context, sink = context_on(shop), Sink(shop)
    done(context_on(shop), "alter-branch-schema", LOG, set="'snapshot.time-retained' = '2 h'")
    sink.batch(0, [1])
    [_, run] = logged(shop)
    other_commits(shop, 90)
    newest = lineage(shop, "shop.log").latest()
    assert newest is not None
    undo = Operation(
        number=0,
        token="undo",
        action="undo",
        request={},
        user="ana",
        host="vm",
        time=1,
        summary="",
        before="",
        after="",
        undoes=run.token,
        edits=Edits(rows=RowsEdit(after=point_of(newest), same_as=NO_ROWS, is_write=True)),
    )
    append(context.files, LOG, undo)
    assert not [each for each in planned(context, "undo", LOG).items if each.kind == "not"]
    sink.batch(1, [2])
    plan = planned(context, "undo", LOG)
    assert plan.arguments["undone"] == "alter-branch-schema"
    said = item(plan, "later-change-stays").text
    assert about("last change", "write-stream", "snapshots 1 to 3", "followed").search(said)


def test_a_run_that_follows_main_to_another_root_is_no_later_than_the_replacement(shop: Path) -> None:
    context, sink = context_on(shop), Sink(shop)
    sink.run = "first"
    other_commits(shop, 90)
    done(context, "create-tag", LOG, name="one")
    done(context, "create-branch", LOG, name="fix", tag="one")
    sink.batch(0, [1])
    done(context, "replace-main-branch", LOG, name="fix")
    sink.batch(1, [2])
    numbers = [each.number for each in logged(shop) if each.action == "write-stream"]
    assert numbers == [3, 3]
    assert planned(context, "undo", LOG).arguments["undone"] == "replace-main-branch"
    # The rows of a run that began later stay on the branch.
    sink.run = "second"
    sink.batch(2, [3])
    assert planned(context, "undo", LOG).arguments["undone"] == "write-stream"
    plan = planned(context, "undo", LOG, replacement=True)
    assert (plan.arguments["undone"], plan.refusals) == ("replace-main-branch", ())
