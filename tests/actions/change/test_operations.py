"""The log of operations: what was done, undone and redone, and the way back to any of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from paimark.core.actions.change import operations
from paimark.core.actions.context import Context
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from paimark.core.table.operations import read_operations
from paimark.core.table.system_tables import system_table
from tests.actions.acting import ORDERS, applied, codes, done, item, planned, texts
from tests.actions.taking_over import add, branched, main_rows
from tests.wording import about


def names(context: Context) -> list[str]:
    """The tags and savepoints of main, and the branches."""
    tags = context.files.names(ORDERS.root().tags)
    return sorted([*tags, *context.files.names(ORDERS.savepoints), *branch_names(context.files, ORDERS)])


def test_each_change_is_an_operation_with_what_was_before_and_after(context: Context) -> None:
    branched(context)
    done(context, "create-savepoint")
    done(context, "replace-main-branch", name="fix")
    done(context, "undo")
    log = read_operations(context.files, ORDERS)
    assert [each.number for each in log] == list(range(1, len(log) + 1))
    assert [each.action for each in log][-3:] == ["create-savepoint", "replace-main-branch", "undo"]
    replacement, undo = log[-2:]
    assert (replacement.before, replacement.after) == (
        "main is the table directory",
        "main is branch fix at snapshot 3",
    )
    assert undo.undoes == replacement.token
    listed = list(system_table("operations").read(context.files, ORDERS.root()))
    assert listed[-1][0] == len(log) and listed[-1][8] == replacement.number


def test_undo_and_redo_walk_to_the_start_and_to_the_end(context: Context) -> None:
    """References and rows are those of each state, both ways."""
    states = [(names(context), main_rows(context), main_root(context.files, ORDERS).label)]
    done(context, "create-tag", name="kept", snapshot=4)
    states.append((names(context), main_rows(context), main_root(context.files, ORDERS).label))
    done(context, "create-savepoint", snapshot=5)
    states.append((names(context), main_rows(context), main_root(context.files, ORDERS).label))
    done(context, "create-branch", name="fix", tag="kept")
    states.append((names(context), main_rows(context), main_root(context.files, ORDERS).label))
    for expected in reversed(states[:-1]):
        done(context, "undo")
        state = (names(context), main_rows(context), main_root(context.files, ORDERS).label)
        assert state[1:] == expected[1:]
        assert set(state[0]) - {"LATEST"} == set(expected[0]) - {"LATEST"}
    for expected in states[1:]:
        done(context, "redo")
        assert main_rows(context) == expected[1]
    # A savepoint's id is never given again.
    assert "savepoint-2" in names(context) and "fix" in names(context)


def test_a_replacement_is_redone(context: Context) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    rows_then = main_rows(context)
    done(context, "undo")
    plan = planned(context, "redo")
    assert plan.action == "replace-main-branch" and plan.summary.startswith("Redo replace-main-branch")
    done(context, "redo")
    assert main_root(context.files, ORDERS).label == "fix" and main_rows(context) == rows_then
    done(context, "undo")
    assert main_root(context.files, ORDERS).branch is None


def test_nothing_to_redo_is_said(context: Context) -> None:
    [refusal] = planned(context, "redo").refusals
    assert about("shop.orders", "no undo", "redone").search(refusal.reason)
    done(context, "create-tag", name="kept")
    done(context, "undo")
    done(context, "create-tag", name="other")
    assert planned(context, "redo").refusals


def test_what_others_built_on_is_passed_over(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    branched(context)
    assert planned(context, "undo").arguments["undone"] == "create-tag"


def test_restore_walks_to_an_operation_and_back(context: Context) -> None:
    for name in ("one", "two", "three"):
        done(context, "create-tag", name=name, snapshot=4)
    plan = planned(context, "restore", to=1)
    assert [step.target for step in plan.steps] == ["undo create-tag", "undo create-tag"]
    assert plan.undo == done(context, "restore", to=1).undo == "paimark restore shop.orders --to 3"
    assert about("shop.orders", "operation 1 already").search(planned(context, "restore", to=1).summary)
    assert {"tag-one"} == {name for name in names(context) if name in ("tag-one", "tag-two", "tag-three")}
    assert done(context, "restore", to=3).undo == "paimark restore shop.orders --to 1"
    assert {"tag-one", "tag-two", "tag-three"} <= set(names(context))
    done(context, "restore", to=0)
    assert planned(context, "restore", to=2).undo == "paimark restore shop.orders --to 0"
    assert not {"tag-one", "tag-two", "tag-three"} & set(names(context))
    assert operations.undoable(context, ORDERS) == []


def test_a_restore_asks_for_what_it_takes_from_readers_whichever_way_it_goes(context: Context) -> None:
    branched(context)
    done(context, "create-tag", name="one", snapshot=4)
    done(context, "replace-main-branch", name="fix")
    back = planned(context, "restore", to=1)
    assert codes(back) == ["changes-taken-back"] and back.ask.kind == "type"
    [lost] = texts(back, "loses")
    assert about("replace-main-branch and create-tag", "newest first").search(lost)
    applied(context, back)
    assert planned(context, "restore", to=2).ask.kind == "none"
    forth = planned(context, "restore", to=3)
    assert codes(forth) == ["changes-done-again"] and forth.ask.kind == "type"
    assert item(forth, "changes-done-again").count == 1


def test_restore_refuses_what_it_can_not_reach(context: Context) -> None:
    done(context, "create-tag", name="one", snapshot=4)
    done(context, "delete-tag", name="one")
    with pytest.raises(NotFound, match=about("no operation 9")):
        planned(context, "restore", to=9)
    with pytest.raises(UsageError, match="to is missing"):
        planned(context, "restore")
    plan = planned(context, "restore", to=2)
    assert plan.summary == "Restore shop.orders to operation 2"
    [refusal] = plan.refusals
    assert about("operation 2", "shop.orders", "reached").search(refusal.reason)
    assert about("undone", "none").search(refusal.hint)


def test_restore_names_what_it_can_reach(context: Context) -> None:
    """Each number that is named can be restored, and no other."""
    done(context, "create-branch", name="fix", tag="v2")
    add(context, "shop.orders$branch_fix", 900)
    done(context, "create-tag", name="gone", snapshot=4)
    done(context, "delete-tag", name="gone")
    for name in ("four", "five", "six"):
        done(context, "create-tag", name=name, snapshot=4)
    done(context, "undo")
    [refusal] = planned(context, "restore", to=3).refusals
    numbers = [each.number for each in read_operations(context.files, ORDERS)]
    can = {each for each in (0, *numbers) if not planned(context, "restore", to=each).refusals}
    named = set(map(int, re.findall(r"[0-9]+", refusal.hint)))
    (now,) = (each for each in can if planned(context, "restore", to=each).empty)
    assert named == can - {now}
    [refusal] = planned(context, "restore", to=0).refusals[:1]
    assert set(map(int, re.findall(r"[0-9]+", refusal.hint))) == named


def test_a_plan_to_restore_is_refused_when_anything_was_done_since(context: Context) -> None:
    done(context, "create-tag", name="one", snapshot=4)
    plan = planned(context, "restore", to=0)
    done(context, "create-tag", name="two", snapshot=4)
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        applied(context, plan)


def test_a_restore_takes_back_nothing_in_the_place_of_what_somebody_changed(context: Context) -> None:
    """An undo alone passes over it, to what was done before."""
    done(context, "create-tag", name="one", snapshot=4)
    done(context, "create-branch", name="fix", tag="v2")
    done(context, "create-tag", name="three", snapshot=4)
    plan = planned(context, "restore", to=1)
    add(context, "shop.orders$branch_fix", 900)
    with pytest.raises(Refused, match=about("1 of 2 done", "create-branch", "fix", "changed")):
        applied(context, plan)
    assert {"tag-one", "fix"} <= set(names(context)) and "tag-three" not in names(context)
    [refusal] = planned(context, "restore", to=1).refusals
    assert about("create-branch", "fix", "changed").search(refusal.reason)


def test_a_restore_that_stops_tells_of_its_own_step_not_of_an_earlier_change(context: Context) -> None:
    """The undo that passes over the changed branch would delete its tag, and that is refused, too."""
    done(context, "create-tag", name="one", snapshot=4)
    done(context, "create-branch", name="fix", tag="one")
    add(context, "shop.orders$branch_fix", 900)
    done(context, "replace-main-branch", name="fix")
    plan = planned(context, "restore", to=1)
    with pytest.raises(Refused, match=about("1 of 2 done", "create-branch", "fix", "changed")):
        applied(context, plan)


@pytest.mark.parametrize(
    "later",
    [
        ("delete-branch", {"name": "fix", "keep": True}),
        ("rename-tag", {"name": "one", "to": "other"}),
        ("rename-tag", {"name": "v2", "to": "other"}),
        ("create-tag", {"name": "own", "branch": "fix"}),
        ("replace-main-branch", {"name": "fix"}),
    ],
    ids=str,
)
def test_a_restore_takes_back_what_a_later_change_has_changed(
    context: Context, later: tuple[str, dict[str, Any]]
) -> None:
    """Its own undo, which comes before, makes it what it was."""
    before = names(context)
    done(context, "create-tag", name="one", snapshot=4)
    done(context, "create-branch", name="fix", tag="v2")
    done(context, later[0], **later[1])
    done(context, "restore", to=0)
    assert names(context) == before


@pytest.mark.parametrize(("name", "given"), [("create-tag", {"name": "x"}), ("create-savepoint", {})])
def test_a_redo_holds_the_snapshot_that_was_newest_then(
    context: Context, name: str, given: dict[str, str]
) -> None:
    done(context, name, ORDERS, **given)
    done(context, "undo")
    add(context, "shop.orders", 900)
    done(context, "redo")
    held = [tag.id for _, tag in Lineage(context.files, ORDERS.root()).tags()]
    assert sorted(held) == [2, 5]
