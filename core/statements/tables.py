"""Translate DROP TABLE, UNDROP TABLE, TRUNCATE TABLE and ALTER TABLE a RENAME TO b to their actions."""

from __future__ import annotations

from dataclasses import replace

from paimark.core.actions.registry import action
from paimark.core.errors import StatementFailed, failing_at
from paimark.core.quoting import quoted
from paimark.core.statements.call import ActionCall
from paimark.core.statements.insert import Inserts, action_of_insert
from paimark.core.table.names import named_table, require_chosen
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.tables import TableStatement, read_table_statement

_ACTIONS = {"drop": "drop-table", "undrop": "undrop", "rename": "rename-table"}


def action_of_table_statement(
    statement: Statement, database: str | None
) -> tuple[ActionCall, Inserts | None]:
    """The action; for a TRUNCATE also the INSERT OVERWRITE that it is. Raises `StatementFailed`."""
    read = read_table_statement(statement)
    if read.kind == "truncate":
        return _truncating(read, database)
    with failing_at(read.position):
        require_chosen(read.parts, database)
        table, branch = named_table(read.parts, database)
    if branch is not None:
        raise statement.refused(
            f"{read.parts[-1]} is a branch, and no table",
            f"CALL sys.delete_branch(table => '{table.full_name}', name => '{branch}') deletes it.",
            read.position,
        )
    arguments: dict[str, object] = {"to": ".".join(map(quoted, read.to))} if read.to else {}
    called = ActionCall(
        action(_ACTIONS[read.kind]), table, arguments, read.position, read.position, read.if_exists
    )
    return called, None


def _truncating(read: TableStatement, database: str | None) -> tuple[ActionCall, Inserts]:
    try:
        called, inserts = action_of_insert(read_statement(read.emptying), database)
    except StatementFailed as error:
        raise StatementFailed(error.message, error.hint, read.position) from error
    return replace(called, position=read.position, table_position=read.position), inserts
