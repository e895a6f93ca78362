"""The plan of an undo names the operation that it takes back, and the later ones that stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from tests.actions.acting import applied, codes, done, item, planned, texts
from tests.actions.taking_over import branched
from tests.wording import about


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
    with pytest.raises(Refused, match=about("create-tag", "by now", "earlier")):
        applied(context, plan)
    applied(context, planned(context, "undo"))
    assert applied(context, plan).message.startswith("Deleted tag first")


def test_a_redo_is_refused_once_something_else_was_done(context: Context) -> None:
    done(context, "create-tag", name="first", snapshot=4)
    done(context, "undo")
    plan = planned(context, "redo")
    done(context, "create-tag", name="second", snapshot=4)
    with pytest.raises(Refused, match=about("done again", "changed since")):
        applied(context, plan)
    done(context, "undo")
    with pytest.raises(Refused, match=about("done again", "changed since")):
        applied(context, plan)


def test_a_redo_is_refused_once_it_is_not_of_the_last_undo(context: Context) -> None:
    for name in ("first", "second"):
        done(context, "create-tag", name=name, snapshot=4)
    done(context, "undo")
    plan = planned(context, "redo")
    done(context, "undo")
    with pytest.raises(Refused, match=about("create-tag", "by now", "earlier")):
        applied(context, plan)
    applied(context, planned(context, "redo"))
    assert applied(context, plan).message.endswith("as second")


def test_a_deletion_that_stays_is_named(context: Context) -> None:
    branched(context)
    done(context, "create-tag", name="month-end", snapshot=4)
    done(context, "delete-branch", name="fix")
    plan = planned(later(context), "undo")
    assert ": delete tag month-end" in plan.headline
    [stays] = texts(plan, "not")
    assert about("last change", "delete-branch fix (2 h ago)", "deleted", "gone").search(stays)
    assert item(plan, "later-change-stays").is_grave


def test_many_that_stay_are_named_the_newest_first(context: Context) -> None:
    for name in ("kept", "a", "b", "c", "d"):
        done(context, "create-tag", name=name, snapshot=4)
    for name in ("a", "b", "c", "d"):
        done(context, "delete-tag", name=name)
    plan = planned(later(context), "undo")
    assert ": delete tag kept" in plan.headline
    [stays] = texts(plan, "not")
    names = "delete-tag d (2 h ago), delete-tag c (2 h ago), delete-tag b (2 h ago) and 1 more"
    assert about("last 4 changes", "`undo`", names).search(stays)


def test_a_later_change_whose_thing_was_changed_since_is_named(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    branched(context)
    plan = planned(context, "undo")
    assert ": delete tag kept" in plan.headline
    [stays] = texts(plan, "not")
    assert about("create-branch", "(fix)", "changed", "stays").search(stays)


def test_a_refusal_names_what_would_be_taken_back(context: Context) -> None:
    done(context, "create-tag", name="month-end", snapshot=4)
    branched(context, "b", "month-end")
    [refusal] = planned(later(context), "undo").refusals
    assert about("branch b", "made", "tag month-end").search(refusal.reason)
    assert about("create-tag (2 h ago)", "`paimark delete-branch shop.orders --name b`").search(refusal.hint)


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
    assert about("last change", "delete-tag before").search(stays)


def test_what_can_not_be_made_again_is_told_before(context: Context) -> None:
    """Another tag keeps the rows, but a new one is made of a snapshot that is there."""
    done(context, "create-tag", name="other", snapshot=4)
    done(context, "create-savepoint", snapshot=4)
    done(context, "create-tag", name="month-end", snapshot=4)
    early = planned(context, "undo")
    assert early.take_back.how == "redo"
    done(context, "expire-snapshots", retain_last=1)
    with pytest.raises(Refused, match=about("main", "expired snapshot 4")):
        applied(context, early)
    for made in ("tag", "savepoint"):
        plan = planned(context, "undo")
        [final] = texts(plan, "final")
        assert about("main", "expired snapshot 4", f"no new {made}").search(final)
        assert plan.take_back.how == "never" and item(plan, "name-gone")
        applied(context, plan)
        with pytest.raises(Refused, match=about(f"create-{made}", "again", "no snapshot 4")):
            planned(context, "redo")
