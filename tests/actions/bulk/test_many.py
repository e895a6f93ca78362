"""One action on many things: one plan, one undo, and every part of it whole or not begun."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from paimark.core.actions.bulk.applying import PartlyDone, part_done, parts_done
from paimark.core.actions.change.operations import stacks
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import action
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Refused, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.operations import read_operations
from paimark.core.text import capitalised
from paimark.results import ManyDone, TagDeleted, result_of
from tests.actions.acting import (
    ORDERS,
    applied,
    codes,
    contents,
    context_on,
    done,
    item,
    planned,
    refused,
    replace_rows,
    texts,
)
from tests.faults.fault_files import Death, DiesAfter
from tests.wording import about


@pytest.fixture
def tags(context: Context, warehouse: Path) -> list[str]:
    """Three tags, of which each holds files that nobody else has, or only another of them."""
    for number in (3, 4):
        done(context, "create-tag", name=f"v{number}", snapshot=number)
    done(context, "create-tag", name="again", snapshot=4)
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    return ["v3", "v4", "again"]


def names(context: Context) -> set[str]:
    return {each.removeprefix("tag-") for each in context.files.names(ORDERS.root().tags)}


def reasons(plan: Plan) -> list[str]:
    return [each.reason for each in plan.refusals]


def test_what_only_the_tags_together_hold_is_freed_and_counted_once(
    context: Context, orders: Path, tags: list[str]
) -> None:
    alone = [planned(context, "delete-tag", name=each).freed_files for each in tags]
    plan = planned(context, "delete-tag", name=tags)
    assert [step.target for step in plan.steps] == ["tag v3", "tag v4", "tag again"]
    assert plan.freed_files > sum(alone)
    before = contents(orders)
    outcome = applied(context, plan)
    gone = before.keys() - contents(orders).keys() - {f"tag/tag-{each}" for each in tags}
    assert len(gone) == plan.freed_files
    assert sum(len(before[path]) for path in gone) == plan.freed_bytes
    assert outcome.message.startswith(
        f"Deleted tags v3, v4 and again of shop.orders ({plan.freed_files} files, "
    )
    assert plan.headline == "Delete tags v3, v4 and again of shop.orders." and plan.ask.phrase == "3"
    result = result_of(plan, outcome)
    assert isinstance(result, ManyDone) and [type(each) for each in result.parts] == [TagDeleted] * 3


def test_tags_that_only_together_hold_a_branch_are_refused(context: Context) -> None:
    done(context, "create-tag", name="same", snapshot=2)
    done(context, "create-branch", name="b", tag="v2")
    for each in ("v2", "same"):
        assert not planned(context, "delete-tag", name=each).refusals
    [reason] = reasons(planned(context, "delete-tag", name=["v2", "same"]))
    assert about("branch b", "tag same", "breaks").search(reason)


def test_one_undo_takes_all_back_and_a_redo_does_all_again(context: Context, orders: Path) -> None:
    before = contents(orders)
    plan = planned(context, "create-savepoint", snapshot=[2, 4])
    assert [part.headline.partition(" (")[0].rpartition(" ")[2] for part in plan.parts] == ["1", "2"]
    applied(context, plan)
    undo = planned(context, "undo")
    assert [step.target for step in undo.steps] == ["savepoint 2", "savepoint 1"]
    applied(context, undo)
    assert contents(orders).keys() - before.keys() == {"savepoint/LATEST"}
    done(context, "redo")
    again = {"savepoint/savepoint-3", "savepoint/savepoint-4"}
    assert again <= contents(orders).keys()
    assert [each.group and each.group.number for each in read_operations(context.files, ORDERS)] == [1, 2] * 3
    done(context, "undo")
    assert not again & contents(orders).keys() and len(stacks(context, ORDERS).redo) == 2


def test_what_parts_lose_alike_is_said_once_and_counted_together(context: Context, tags: list[str]) -> None:
    done(context, "create-savepoint")
    alone = [planned(context, "delete-tag", name=each) for each in ("v3", "v2")]
    plan = planned(context, "delete-tag", name=["v3", "v2"])
    assert codes(plan) == ["version-gone", "final"]
    lost = item(plan, "version-gone")
    assert about("tag v3", "version", "tag v2").search(lost.text)
    assert lost.count == sum(item(each, "version-gone").count or 0 for each in alone)


def test_retired_branches_come_back_together(context: Context) -> None:
    for each in ("a", "b"):
        done(context, "create-branch", name=each, tag="v2")
    done(context, "delete-branch", name=["a", "b"], keep=True)
    outcome = done(context, "undo")
    assert about("back", "branches b and a", "shop.orders").search(outcome.message)
    assert {*context.files.names(ORDERS.branches)} >= {"branch-a", "branch-b"}


def test_branches_go_together(context: Context, warehouse: Path, orders: Path) -> None:
    for each in ("a", "b"):
        done(context, "create-branch", name=each, tag="v2")
        replace_rows(warehouse, f"$branch_{each}")
    before = contents(orders)
    plan = planned(context, "delete-branch", name=["a", "b"])
    applied(context, plan)
    gone = {each for each in before.keys() - contents(orders).keys() if not each.startswith("branch/")}
    assert len(gone) == plan.freed_files > 0


def test_a_part_that_somebody_changed_is_refused_and_the_others_are_done(
    context: Context, tags: list[str]
) -> None:
    plan = planned(context, "delete-tag", name=tags)
    done(context, "rename-tag", name="v4", to="mine")
    with pytest.raises(PartlyDone) as raised:
        applied(context, plan)
    done_and_not = about("2 of 3 done", "tag v3, tag again", "not done: tag v4", "no tag v4")
    assert done_and_not.search(raised.value.message)
    assert len(raised.value.outcome.parts) == 2
    assert names(context) == {"v2", "mine"}


def test_nothing_goes_on_after_an_error_of_the_store(context: Context, tags: list[str]) -> None:
    plan = planned(context, "delete-tag", name=tags)

    def cut(line: str) -> None:
        if line.startswith("1 of 3"):
            context.files.replace(ORDERS.root().tag("v4"), b"{")

    with pytest.raises(PartlyDone) as raised:
        action("delete-tag").apply(context, plan, cut)
    assert "not begun: tag again" in raised.value.message
    assert "again" in names(context) and "v3" not in names(context)


def test_a_cancel_stops_before_the_next_part(context: Context, tags: list[str]) -> None:
    plan, cancellation = planned(context, "delete-tag", name=tags), Cancellation()

    def cancel(line: str) -> None:
        if "deleted" in line:
            # Past the point of no return of the first.
            assert cancellation.is_closed
            cancellation.cancel()

    with pytest.raises(PartlyDone) as raised, cancellable(cancellation):
        action("delete-tag").apply(context, plan, cancel)
    assert raised.value.message == "Cancelled: 1 of 3 done: tag v3; not begun: tag again"
    assert names(context) == {"v2", "v4", "again"}


def test_recover_says_what_was_done_of_many(context: Context, warehouse: Path, tags: list[str]) -> None:
    files = DiesAfter(LocalFiles(str(warehouse)), r"operations/operation-")
    with pytest.raises(Death):
        done(context_on(warehouse, files), "delete-tag", name=tags)
    [told] = texts(planned(context, "recover"), "affects")
    assert about("1", "3", "delete-tag").search(told) and re.search("tag v3\\b.*tag v4, tag again$", told)
    message = done(context, "recover").message
    assert about("shop.orders", "deleted tag v3", "run delete-tag").search(message)
    assert capitalised(told) in message
    [told] = texts(planned(context, "recover"), "affects")
    assert capitalised(told) in message
    # Nothing is interrupted any more, and it is known still what was not begun, whatever others do.
    assert texts(planned(context, "recover"), "affects") == [told]
    assert names(context) == {"v2", "v4", "again"}
    done(context, "create-savepoint")
    assert texts(planned(context, "recover"), "affects") == [told]
    done(context, "delete-tag", name="again")
    assert texts(planned(context, "recover"), "affects") == [told]
    done(context, "delete-tag", name="v4")
    assert texts(planned(context, "recover")) == []


def test_nothing_is_said_of_many_after_a_week(context: Context, warehouse: Path, tags: list[str]) -> None:
    files = DiesAfter(LocalFiles(str(warehouse)), r"operations/operation-")
    with pytest.raises(Death):
        done(context_on(warehouse, files), "delete-tag", name=tags)
    done(context, "recover")
    in_a_week = dataclasses.replace(context, clock=lambda: context.clock() + 8 * 24 * 3_600_000)
    assert planned(context, "recover").warnings and not planned(in_a_week, "recover").warnings


def test_what_was_made_of_many_is_taken_back_or_continued(context: Context, warehouse: Path) -> None:
    """Its process was killed between two parts; then its undo was killed between two parts, too."""

    def killed(action_name: str, after: str, /, **arguments: object) -> None:
        with pytest.raises(Death):
            dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), after))
            done(dying, action_name, ORDERS, **arguments)

    def told() -> str:
        plan = planned(context, "recover")
        assert plan.empty
        return " ".join(texts(plan, "affects"))

    killed("create-tag", r"operation-2-", name="n-{id}", snapshot=[3, 4, 5])
    assert about("2", "3", "run create-tag", "`paimark undo shop.orders`").search(told())
    assert re.search(r"tag n-3, tag n-4\b.*tag n-5\b", told())
    killed("undo", r"operation-3-")
    assert names(context) == {"v2", "n-3"}
    done(context, "recover")
    assert about("1", "2", "undo", "`paimark undo shop.orders`").search(told())
    assert re.search(r"tag n-4\b.*tag n-3\b", told())
    done(context, "undo")
    assert names(context) == {"v2"} and told() == ""
    done(context, "redo")
    assert names(context) == {"v2", "n-3", "n-4"}


def test_what_was_changed_since_stays_when_the_others_are_taken_back(
    context: Context, warehouse: Path
) -> None:
    done(context, "create-tag", name="n-{id}", snapshot=[3, 4, 5])
    path = ORDERS.root().tag("n-4")
    context.files.replace(path, context.files.read(path) + b"\n")
    plan = planned(context, "undo")
    [stays] = texts(plan, "not")
    assert about("create-tag", "n-4", "changed", "stays").search(stays)
    applied(context, plan)
    assert names(context) == {"v2", "n-4"}


def test_a_restore_walks_part_by_part(context: Context) -> None:
    done(context, "create-tag", name="n-{id}", snapshot=[3, 4, 5])
    done(context, "restore", to=2)
    assert names(context) == {"v2", "n-3", "n-4"}
    done(context, "restore", to=3)
    assert names(context) == {"v2", "n-3", "n-4", "n-5"}


def test_names_that_would_be_equal_or_are_there_are_refused(context: Context) -> None:
    plan = planned(context, "create-tag", name="same", snapshot=[3, 4])
    [reason] = reasons(plan)
    assert about("2 snapshots", "tag same").search(reason) and not plan.parts
    done(context, "create-tag", name="n-{id}", snapshot=4)
    plan = planned(context, "create-tag", name="n-{id}", snapshot=[3, 4])
    [reason] = reasons(plan)
    assert about("main", "shop.orders", "tag n-4", "snapshot").search(reason)
    with pytest.raises(Refused):
        applied(context, plan)
    assert "n-3" not in names(context)
    with pytest.raises(UsageError, match=about("snapshot 3", "twice")):
        planned(context, "create-tag", name="n-{id}", snapshot=[3, 3])
    with pytest.raises(UsageError, match=about("501")):
        planned(context, "create-savepoint", snapshot=list(range(501)))


def test_every_refusal_is_told_before_anything_is_done(context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-tag", name="free", snapshot=3)
    plan = planned(context, "delete-tag", name=["none", "free", "v2"])
    assert refused(plan) == ["shop.orders has no tag none", "branch-needs-it"]
    with pytest.raises(Refused):
        applied(context, replace(plan, action="delete-tag"))
    assert "free" in names(context)


def test_the_line_on_a_part_tells_how_many_are_done() -> None:
    assert parts_done(part_done(12, 30, "Deleted tag a of t: 1 file")) == 12
    for other in ("read 1 of 4 manifests, 3 s left", "all 3 of 4: x", "3 of them: x", "waiting"):
        assert parts_done(other) is None
