"""The plan of an undo names the operation that it takes back, and the later ones that stay."""

from __future__ import annotations

import re

from paimark.core.actions.context import Context
from paimark.core.figures import moment
from paimark.core.table.operations import read_operations
from tests.actions.acting import ORDERS, done, planned
from tests.actions.taking_over import branched


def when(context: Context, number: int) -> str:
    return moment(read_operations(context.files, ORDERS)[number - 1].time)


def test_the_newest_operation_is_named_with_its_time(context: Context) -> None:
    done(context, "create-tag", name="month-end", snapshot=4)
    plan = planned(context, "undo")
    assert plan.summary.startswith(f"Take back create-tag of {when(context, 1)}: delete tag month-end of")
    assert not plan.warnings


def test_a_deletion_that_stays_is_named(context: Context) -> None:
    branched(context)
    done(context, "create-tag", name="month-end", snapshot=4)
    done(context, "delete-branch", name="fix")
    number = len(read_operations(context.files, ORDERS))
    plan = planned(context, "undo")
    assert ": delete tag month-end" in plan.summary
    assert plan.warnings == (
        f"delete-branch fix of {when(context, number)} is later, and stays: what it deleted is gone",
    )


def test_many_that_stay_are_named_the_newest_first(context: Context) -> None:
    for name in ("kept", "a", "b", "c", "d"):
        done(context, "create-tag", name=name, snapshot=4)
    for name in ("a", "b", "c", "d"):
        done(context, "delete-tag", name=name)
    plan = planned(context, "undo")
    assert ": delete tag kept" in plan.summary
    [warning] = plan.warnings
    assert re.sub(r" of [^,]*?(?=,| and)", "", warning) == (
        "4 later changes stay, because `undo` can't take them back: "
        "delete-tag d, delete-tag c, delete-tag b and 1 more"
    )


def test_a_later_change_whose_thing_was_changed_since_is_named(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    branched(context)
    plan = planned(context, "undo")
    assert ": delete tag kept" in plan.summary
    assert "What create-branch made (fix) has been changed since, and stays" in plan.warnings


def test_what_was_undone_is_not_named(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    done(context, "create-tag", name="other", snapshot=4)
    done(context, "undo")
    assert not planned(context, "undo").warnings
    done(context, "redo")
    assert ": delete tag other" in planned(context, "undo").summary


def test_parts_of_a_change_of_many_do_not_name_each_other(context: Context) -> None:
    done(context, "create-tag", name="before", snapshot=4)
    done(context, "create-tag", name="t-{id}", snapshot=[2, 4])
    plan = planned(context, "undo")
    began = f"Take back create-tag of {when(context, 3)}: "
    assert plan.summary.startswith(f"{began}delete 2 tags of shop.orders")
    assert not plan.warnings
    done(context, "delete-tag", name="before")
    assert [each.partition(" of ")[0] for each in planned(context, "undo").warnings] == ["delete-tag before"]
