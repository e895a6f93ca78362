"""Undo by another action: a new branch, tag or savepoint is deleted, a schema is altered back.

Only while it is as the change left it: what somebody built on it since is not taken away.
"""

from __future__ import annotations

from core.actions.change.operations import Undoable
from core.actions.context import Context
from core.actions.plan import Plan
from core.table.layout import TablePath


def plan(context: Context, table: TablePath, entry: Undoable) -> Plan:
    """The plan of the action that undoes it."""
    from core.actions.registry import action

    assert entry.inverse is not None
    return action(entry.inverse).plan(context, table, entry.arguments or {})
