"""Translate statements on a whole table to their actions, and run CREATE and DROP DATABASE, without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from msgspec import structs

from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Outcome, Plan, Step, raise_first
from paimark.core.actions.registry import Action, action, with_note
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.actions.schema.alter_branch_schema import ACTION
from paimark.core.actions.schema.types import paimon_type
from paimark.core.actions.tables import databases
from paimark.core.actions.tables.create_table import ACTION as CREATE
from paimark.core.actions.tables.create_table import CreateTable
from paimark.core.errors import PaimarkError, StatementFailed, failing_at
from paimark.core.quoting import quoted
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Event, Failed, Finished, Run
from paimark.core.statements.call import ActionCall
from paimark.core.statements.insert import Inserts, action_of_insert
from paimark.core.table.layout import TablePath
from paimark.core.table.names import chosen_table, parse_table_name
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.alters import changes_text, read_alter
from paimark.core.travel.statements.tables import (
    DatabaseStatement,
    TableStatement,
    read_database_statement,
    read_table_statement,
)

_ACTIONS = {"drop": "drop-table", "undrop": "undrop", "rename": "rename-table"}


def action_of_table_statement(
    statement: Statement, database: str | None
) -> tuple[ActionCall, Inserts | None]:
    """The action; for a TRUNCATE also the INSERT OVERWRITE that it is. Raises `StatementFailed`."""
    read = read_table_statement(statement)
    if read.kind == "truncate":
        return _truncating(read, database)
    table, branch = chosen_table(read.parts, database, read.position)
    arguments: dict[str, object]
    if read.kind == "analyze":
        arguments = {"columns": read.columns, "branch": branch}
        return ActionCall(action("analyze"), table, arguments, read.position, read.position), None
    if branch is not None:
        raise statement.refused(
            f"{read.parts[-1]} is a branch, and no table",
            f"CALL sys.delete_branch(table => '{table.full_name}', name => '{branch}') deletes it.",
            read.position,
        )
    if read.kind == "create":
        like = chosen_table(read.like, database, read.like_position) if read.like else None
        creating = CreateTable(read.sql, like).action()
        if read.query_position is not None:
            creating = CreateAs(read, database).action()
        return ActionCall(creating, table, {}, read.position, read.position, read.condition), None
    arguments = {"to": ".".join(map(quoted, read.to))} if read.to else {}
    called = ActionCall(
        action(_ACTIONS[read.kind]), table, arguments, read.position, read.position, read.condition
    )
    return called, None


@dataclass(frozen=True)
class CreateAs:
    """A CREATE TABLE AS: the table is made with the columns of the query, and then filled by it."""

    read: TableStatement
    database: str | None

    def action(self) -> Action:
        summary = "Make a table of the rows of a query."
        return with_note(Action(CREATE, summary, (), self.plan, self.apply, of_no_table=True))

    def plan(self, context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
        """`arguments` is ignored. Raises `StatementFailed` with its position, and the engine's error."""
        creating = CreateTable(self.read.with_columns(self._columns(context)), None)
        plan = creating.plan(context, table, arguments)
        filling = Step("create", table.root().snapshot(1), "the rows of the query, through Spark")
        return structs.replace(plan, steps=(*plan.steps, filling), cost="one file, then one commit")

    def apply(self, context: Context, plan: Plan, progress: Progress) -> Outcome:
        """Make it and fill it. If that fails, the table stays without rows, and this is said."""
        table = parse_table_name(plan.table)
        made = CreateTable(self.read.sql, None).apply(context, plan, progress)
        head = f"INSERT INTO {'.'.join(map(quoted, (table.database, table.name)))} "
        try:
            with self._in_statement(len(head)):
                filling = read_statement(head + self.read.query)
                called, _ = action_of_insert(filling, self.database)
                inner = called.action.plan(context, table, {})
                raise_first(inner.refusals)
                filled = called.action.apply(context, inner, progress)
        except (PaimarkError, KeyboardInterrupt):
            progress(Remark(f"{made.message}, without rows: drop it, or fill it by INSERT INTO"))
            raise
        return structs.replace(made, message=f"{made.message}. {filled.message}")

    def _columns(self, context: Context) -> str:
        """Those of the query, as DDL."""
        head = "DESCRIBE QUERY "
        columns: list[str] = []
        with (
            self._in_statement(len(head)),
            engine_of(context) as engine,
            closing(engine.do(Run(0, head + self.read.query, self.database))) as events,
        ):
            for event in events:
                if isinstance(event, Batch):
                    rows = read_batch(event)
                    names, types = rows.column(0).to_pylist(), rows.column(1).to_pylist()
                    columns += [f"{quoted(name)} {kind}" for name, kind in zip(names, types, strict=True)]
                elif isinstance(event, Failed):
                    raise event.error()
        return ", ".join(columns)

    @contextmanager
    def _in_statement(self, head: int) -> Iterator[None]:
        """Positions of errors behind `head` characters are those in the query of the statement."""
        try:
            yield
        except StatementFailed as error:
            at = None
            if error.position is not None and self.read.query_position is not None:
                at = max(error.position - head, 0) + self.read.query_position
            raise StatementFailed(error.message, error.hint, at) from error


def _truncating(read: TableStatement, database: str | None) -> tuple[ActionCall, Inserts]:
    try:
        called, inserts = action_of_insert(read_statement(read.emptying), database, empties=True)
    except StatementFailed as error:
        raise StatementFailed(error.message, error.hint, read.position) from error
    return replace(called, position=read.position, table_position=read.position), inserts


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


def database_events(context: Context, statement: Statement, tell: Progress) -> Iterator[Event]:
    began, read = time.monotonic(), None
    try:
        read = read_database_statement(statement)
        message = _change_database(context, read, tell)
    except PaimarkError as error:
        yield Failed.of(error, read.position if read else None)
    else:
        yield Finished(0, False, time.monotonic() - began, message)


def _change_database(context: Context, read: DatabaseStatement, tell: Progress) -> str:
    name = read.name
    is_there = databases.exists(context, name)
    if read.is_lenient and is_there == (read.kind == "create"):
        return (
            f"There is {'a' if is_there else 'no'} database {name}{' already' * is_there}: nothing was done"
        )
    do = databases.create if read.kind == "create" else databases.drop
    return do(context, name, tell).message
