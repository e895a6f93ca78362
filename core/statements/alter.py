"""From `ALTER TABLE shop.orders ADD COLUMN note STRING` to the action that does it."""

from __future__ import annotations

from core.actions.registry import action
from core.actions.schema.alter_branch_schema import ACTION
from core.actions.schema.types import paimon_type
from core.errors import UsageError
from core.statements.call import Called
from core.table.names import named_table
from core.travel.parse.uses import Statement
from core.travel.statements.alters import read_alter, written


def altering_action(statement: Statement, database: str | None = None) -> Called:
    """The action of an ALTER TABLE; `database` is that of a table's plain name. Raises `StatementFailed`."""
    alter = read_alter(statement)
    try:
        table, branch = named_table(alter.parts, database)
    except UsageError as error:
        raise alter.refused(error.message, error.hint, alter.table_position) from error
    for change in alter.changes:
        try:
            if change.kind in ("add", "widen"):
                paimon_type(change.value)
        except UsageError as error:
            raise alter.refused(error.message, error.hint, change.position) from error
    arguments: dict[str, object] = {alter.changes[0].kind: written(alter.changes)}
    if branch is not None:
        arguments["branch"] = branch
    position = alter.changes[0].position
    return Called(action(ACTION), table, arguments, position, alter.table_position)
