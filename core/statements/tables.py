"""Translate CREATE, DROP, UNDROP and TRUNCATE TABLE, and ALTER TABLE a RENAME TO b to their actions."""

from __future__ import annotations

from dataclasses import replace

from paimark.core.actions.registry import action
from paimark.core.actions.tables.create_table import CreateTable
from paimark.core.errors import StatementFailed, failing_at
from paimark.core.quoting import quoted
from paimark.core.statements.call import ActionCall
from paimark.core.statements.insert import Inserts, action_of_insert
from paimark.core.table.layout import TablePath
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
    if read.kind == "create":
        like = named_source(read, database) if read.like else None
        creating = CreateTable(read.sql, like).action()
        return ActionCall(creating, table, {}, read.position, read.position, read.condition), None
    arguments: dict[str, object] = {"to": ".".join(map(quoted, read.to))} if read.to else {}
    called = ActionCall(
        action(_ACTIONS[read.kind]), table, arguments, read.position, read.position, read.condition
    )
    return called, None


def named_source(read: TableStatement, database: str | None) -> tuple[TablePath, str | None]:
    """The table, and its branch, that LIKE names."""
    with failing_at(read.like_position):
        require_chosen(read.like, database)
        return named_table(read.like, database)


def _truncating(read: TableStatement, database: str | None) -> tuple[ActionCall, Inserts]:
    try:
        called, inserts = action_of_insert(read_statement(read.emptying), database)
    except StatementFailed as error:
        raise StatementFailed(error.message, error.hint, read.position) from error
    return replace(called, position=read.position, table_position=read.position), inserts
