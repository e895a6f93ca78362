"""The plan of an undo names the operation that it takes back, and the later ones that stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from tests.actions.acting import applied, codes, done, item, planned, texts
from tests.actions.taking_over import branched


def later(context: Context) -> Context:
    """Two hours from now."""
    return replace(context, clock=lambda: context.clock() + 7_200_000)


def test_the_newest_operation_is_named_with_its_age(context: Context) -> None:
    done(context, "create-tag", name="month-end", snapshot=4)
    plan = planned(later(context), "undo")
    assert plan.headline == "Take back create-tag (2 h ago): delete tag month-end of shop.orders."
    assert (codes(plan), plan.take_back.how, plan.ask.phrase) == (["name-gone"], "redo", "")


def test_who_did_it_is_named_if_it_is_somebody_else(context: Context) -> None:
    done(replace(context, user="ann"), "create-tag", name="month-end", snapshot=4)
    assert planned(later(context), "undo").headline.startswith("Take back create-tag (2 h ago, by ann): ")


def test_a_plan_is_refused_once_it_is_no_longer_the_last_change(context: Context) -> None:
    done(context, "create-tag", name="first", snapshot=4)
    plan = planned(context, "undo")
    done(context, "create-tag", name="second", snapshot=4)
    with pytest.raises(Refused, match="create-tag by now, and this plan takes back an earlier one"):
        applied(context, plan)
    applied(context, planned(context, "undo"))
    assert applied(context, plan).message.startswith("Deleted tag first")


def test_a_deletion_that_stays_is_named(context: Context) -> None:
    branched(context)
    done(context, "create-tag", name="month-end", snapshot=4)
    done(context, "delete-branch", name="fix")
    plan = planned(later(context), "undo")
    assert ": delete tag month-end" in plan.headline
    assert texts(plan, "not") == ["the last change, delete-branch fix (2 h ago): what it deleted is gone"]
    assert item(plan, "later-change-stays").is_grave


def test_many_that_stay_are_named_the_newest_first(context: Context) -> None:
    for name in ("kept", "a", "b", "c", "d"):
        done(context, "create-tag", name=name, snapshot=4)
    for name in ("a", "b", "c", "d"):
        done(context, "delete-tag", name=name)
    plan = planned(later(context), "undo")
    assert ": delete tag kept" in plan.headline
    assert texts(plan, "not") == [
        "the last 4 changes, which `undo` can't take back: "
        "delete-tag d (2 h ago), delete-tag c (2 h ago), delete-tag b (2 h ago) and 1 more"
    ]


def test_a_later_change_whose_thing_was_changed_since_is_named(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    branched(context)
    plan = planned(context, "undo")
    assert ": delete tag kept" in plan.headline
    assert texts(plan, "not") == ["what create-branch made (fix) has been changed since, and stays"]


def test_a_refusal_names_what_would_be_taken_back(context: Context) -> None:
    done(context, "create-tag", name="month-end", snapshot=4)
    branched(context, "b", "month-end")
    [refusal] = planned(later(context), "undo").refusals
    assert refusal.reason == "Branch b was made from tag month-end, and breaks without it"
    assert refusal.hint.startswith(
        "create-tag (2 h ago) is what would be taken back. Delete the branch first"
    )


def test_what_was_undone_is_not_named(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    done(context, "create-tag", name="other", snapshot=4)
    done(context, "undo")
    assert not texts(planned(context, "undo"), "not")
    done(context, "redo")
    assert ": delete tag other" in planned(context, "undo").headline


def test_parts_of_a_change_of_many_do_not_name_each_other(context: Context) -> None:
    done(context, "create-tag", name="before", snapshot=4)
    done(context, "create-tag", name="t-{id}", snapshot=[2, 4])
    plan = planned(later(context), "undo")
    assert plan.headline == "Take back create-tag (2 h ago): delete tags t-4 and t-2 of shop.orders."
    assert not texts(plan, "not")
    done(context, "delete-tag", name="before")
    [stays] = texts(planned(context, "undo"), "not")
    assert stays.startswith("the last change, delete-tag before (")


def test_what_can_not_be_made_again_is_told_before(context: Context) -> None:
    """Another tag keeps the rows, but a new one is made of a snapshot that is there."""
    done(context, "create-tag", name="other", snapshot=4)
    done(context, "create-savepoint", snapshot=4)
    done(context, "create-tag", name="month-end", snapshot=4)
    assert planned(context, "undo").take_back.how == "redo"
    done(context, "expire-snapshots", retain_last=1)
    for made in ("tag", "savepoint"):
        plan = planned(context, "undo")
        assert texts(plan, "final") == [
            f"this can't be taken back. main has expired snapshot 4, of which no new {made} can be made"
        ]
        assert plan.take_back.how == "never" and item(plan, "name-gone")
        applied(context, plan)
        with pytest.raises(Refused, match=f"create-{made} can't be made again: .* has no snapshot 4"):
            planned(context, "redo")
