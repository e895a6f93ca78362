"""Translate `ALTER TABLE shop.orders ADD COLUMN note STRING` to its action."""

from __future__ import annotations

from paimark.core.actions.registry import action
from paimark.core.actions.schema.alter_branch_schema import ACTION
from paimark.core.actions.schema.types import paimon_type
from paimark.core.errors import failing_at
from paimark.core.statements.call import ActionCall
from paimark.core.table.names import chosen_table
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.alters import changes_text, read_alter


def action_of_alter(statement: Statement, database: str | None = None) -> ActionCall:
    """The action of an ALTER TABLE; `database` is the current one. Raises `StatementFailed`."""
    alter = read_alter(statement)
    table, branch = chosen_table(alter.parts, database, alter.table_position)
    for change in alter.changes:
        if change.kind in ("add", "widen"):
            with failing_at(change.position):
                paimon_type(change.value)
    arguments: dict[str, object] = {alter.changes[0].kind: changes_text(alter.changes)}
    if branch is not None:
        arguments["branch"] = branch
    position = alter.changes[0].position
    return ActionCall(action(ACTION), table, arguments, position, alter.table_position)
