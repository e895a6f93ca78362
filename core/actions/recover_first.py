"""The next change recovers what a dead process left, as a database rolls back its hot journal.

Only where that needs no person: the process is certainly dead, no request of it can come late, it is known
whether its change was committed, and recovering it comes to what was meant. Else the plan is refused, and
names `recover`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from paimark.core.actions.context import Context, Remark
from paimark.core.actions.plan import RECOVERED, Item, Plan
from paimark.core.actions.registry import Action
from paimark.core.errors import PaimarkError
from paimark.core.figures import age
from paimark.core.table.commits import Landed
from paimark.core.table.layout import TablePath
from paimark.core.text import lowered


class Recovery(NamedTuple):
    """`of` names the interrupted change: `merge-branch, cut off 5 min ago,`."""

    of: str
    plan: Plan


def plan_to_apply(
    action: Action, context: Context, table: TablePath, arguments: Mapping[str, object]
) -> Plan:
    """The plan of an action that is to be applied, if need be after a recovery of the table."""
    try:
        plan = action.plan(context, table, arguments)
    except PaimarkError:
        if not (said := _recovered(context, table)):
            raise
    else:
        if not plan.refusals or not (said := _recovered(context, table)):
            return plan
    plan = action.plan(context, table, arguments)
    if plan.refusals or plan.empty:
        context.progress(Remark(said))
        return plan
    return replace(plan, items=(Item("affects", said, RECOVERED), *plan.items))


def recovery(context: Context, table: TablePath) -> Recovery | None:
    """The recovery of the table's interrupted change, if it needs no person. It changes nothing yet."""
    # Here, because hardly any plan needs them.
    from paimark.core.actions import recover
    from paimark.core.actions.change import driver, journal
    from paimark.core.actions.change.taking_back import describe_wait

    try:
        if context.read_only or journal.current(context, table) is None:
            return None
        found = recover.look(context, table)
        now = found.interrupted
        if now is None or found.watched or describe_wait(context, table, now, []):
            return None
        if now.journal.change != recover.ACTION:
            landed, becomes = driver.prospect(context, table, now)
            if landed is Landed.UNKNOWN or (becomes is not None and becomes.kind != "loses"):
                return None
        plan = recover.plan(context, table, {})
    except PaimarkError:
        # The plan says that the table is held, and by whom.
        return None
    if plan.refusals:
        return None
    of = f"{now.journal.action}, cut off {age(now.acting[0].since, context.clock())},"
    return Recovery(of, replace(plan, action=recover.ACTION, table=table.full_name))


def _recovered(context: Context, table: TablePath) -> str:
    """Recover the interrupted change of the table, and say what became of it; empty if a person has to."""
    from paimark.core.actions import recover

    if (found := recovery(context, table)) is None:
        return ""
    try:
        outcome = recover.apply(context, found.plan, context.progress)
    except PaimarkError:
        return ""
    _, _, became = outcome.message.partition(". ")
    return f"{found.of} is recovered first: {lowered(became)}"
