"""`unprotect`: a branch, tag or savepoint may be let go again."""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.protection.protect import plan_of, thing_of
from paimark.core.table.layout import TablePath


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `tag`, `savepoint` or `branch`; another engine may have deleted it. Raises `UsageError`."""
    thing = thing_of(context, table, arguments)
    headline = f"End the protection of {thing.said} of {table.full_name}."
    return plan_of(context.files, table, thing, None, headline, [])
