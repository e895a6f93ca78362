"""`unprotect`: a branch, tag or savepoint may be let go again."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.protection.protect import plan_of, thing_of
from paimark.core.table.layout import TablePath
from paimark.core.text import capitalised


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `tag`, `savepoint` or `branch`; another engine may have deleted it. Raises `UsageError`."""
    thing = thing_of(context, table, arguments)
    headline = f"{capitalised(thing.said)} of {table.full_name} may be let go again."
    return plan_of(context.files, table, thing, None, headline, [])
