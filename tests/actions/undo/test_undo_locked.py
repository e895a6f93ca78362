"""While another change holds the table, undo, redo and restore refuse with that alone.

What can be undone is not known before that change ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from paimark.core.actions.change import journal
from paimark.core.actions.change.owner import running
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from tests.actions.acting import EVENTS, ORDERS, done, planned
from tests.actions.taking_over import add, branched
from tests.wording import about


@contextmanager
def _locked(context: Context, plan: Plan) -> Iterator[None]:
    token = journal.new_token()
    table = EVENTS if plan.table == EVENTS.full_name else ORDERS
    with running(context, table, token):
        hold = journal.take(context, table, plan, token, plan.action, {})
        yield
        hold.release()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("undo", {}), ("undo", {"replacement": True}), ("redo", {}), ("restore", {"to": 0})],
)
def test_a_locked_table_is_refused_with_the_lock_alone(
    context: Context, name: str, arguments: dict[str, Any]
) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    with _locked(context, planned(context, "delete-tag", name="kept")):
        [refusal] = planned(context, name, **arguments).refusals
    assert about("shop.orders", "held", "delete-tag").search(refusal.reason)


@pytest.mark.parametrize("name", ["undo", "redo"])
def test_without_a_way_back_the_lock_is_the_reason(context: Context, name: str) -> None:
    """The change that holds the table may be the first one that can be undone."""
    plan = planned(context, "create-tag", table=EVENTS, name="kept")
    with _locked(context, plan):
        [refusal] = planned(context, name, table=EVENTS).refusals
    assert about("shop.events", "held", "create-tag").search(refusal.reason)


# Spark merges, and merges back.
@pytest.mark.long
def test_a_move_of_main_by_a_change_that_still_runs_is_no_second_refusal(context: Context) -> None:
    branched(context)
    done(context, "merge-branch", name="fix")
    done(context, "undo")
    plan = planned(context, "delete-branch", name="fix")
    add(context, "shop.orders", 77)
    with _locked(context, plan):
        [refusal] = planned(context, "redo").refusals
    assert about("held", "delete-branch").search(refusal.reason)


def test_a_restore_that_has_nothing_to_do_needs_no_lock(context: Context) -> None:
    done(context, "create-tag", name="kept", snapshot=4)
    with _locked(context, planned(context, "delete-tag", name="kept")):
        assert planned(context, "restore", to=1).empty
