"""A plan that loses only a name is not applied once it would lose more: an hour may pass until it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from tests.actions.acting import ORDERS, applied, context_on, done, planned
from tests.actions.taking_over import branched
from tests.wording import about

Action = tuple[str, dict[str, object]]
EXPIRY: Action = ("expire-snapshots", {"retain_last": 1})
TRUNCATION: Action = ("rollback", {"to": "snapshot.5", "truncate": True})
# What is planned, what others do before it is applied, and who would be the last that has the version.
CASES: tuple[tuple[Action, Action, str], ...] = (
    (("delete-tag", {"name": "t3"}), EXPIRY, "tag t3 of shop.orders"),
    (("delete-savepoint", {"id": 1}), EXPIRY, "savepoint 1 of shop.orders"),
    (EXPIRY, ("delete-tag", {"name": "t3"}), "main of shop.orders"),
    (("delete-branch", {"name": "ahead"}), TRUNCATION, "branch ahead of shop.orders"),
)


@pytest.fixture
def context(warehouse: Path) -> Context:
    """Tags or savepoint 1 keep each snapshot; main has all commits of branch `ahead`."""
    context = context_on(warehouse)
    for number in (1, 3, 5):
        done(context, "create-tag", name=f"t{number}", snapshot=number)
    done(context, "create-savepoint", snapshot=4)
    branched(context, "ahead", "t5")
    done(context, "merge-branch", name="ahead")
    return context


@pytest.mark.parametrize(("action", "meanwhile", "last"), CASES, ids=lambda each: str(each[0])[:20])
def test_what_was_kept_elsewhere_is_not_lost_by_an_old_plan(
    context: Context, action: Action, meanwhile: Action, last: str
) -> None:
    plan = planned(context, action[0], ORDERS, **action[1])
    assert not any(each.is_grave for each in plan.items if each.kind == "loses")
    done(context, meanwhile[0], ORDERS, **meanwhile[1])
    with pytest.raises(Refused) as refused:
        applied(context, plan)
    assert about(last, "last now").search(refused.value.message)
    assert planned(context, "recover").empty
    new = planned(context, action[0], ORDERS, **action[1])
    assert any(each.is_grave for each in new.items if each.kind == "loses")
    applied(context, new)


@pytest.mark.parametrize("action", [each for each, _, _ in CASES], ids=lambda each: str(each[0]))
def test_a_plan_is_applied_while_others_keep_it(context: Context, action: Action) -> None:
    plan = planned(context, action[0], ORDERS, **action[1])
    done(context, "create-tag", name="another", snapshot=2)
    applied(context, plan)
