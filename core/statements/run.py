"""Run a statement, and yield its events: actions run here, the Spark engine runs all other statements."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paimark.core.actions.context import Context, Progress, context_of
from paimark.core.actions.plan import Plan, raise_first, undone_by
from paimark.core.actions.registry import Action
from paimark.core.errors import PaimarkError, Refused, StatementFailed
from paimark.core.spark.arrow import cells_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.home import start_zone
from paimark.core.spark.launch.session_settings import check_setting
from paimark.core.spark.protocol import Columns, Event, Failed, Finished
from paimark.core.statements.call import ActionCall, action_of_call
from paimark.core.statements.dialects import IN_SQL
from paimark.core.statements.listing.answer import Listing, events, read_listing
from paimark.core.storage.files import Files
from paimark.core.table.catalog import table_exists
from paimark.core.table.lineage.notes import Note
from paimark.core.travel.parse.sql import message_of, read_statement
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.resolving import require_versions
from paimark.core.travel.statements.inserts import COMMANDS
from paimark.core.travel.statements.refused import (
    foreign,
    require_query_explained,
    require_supported,
    unsupported,
)
from paimark.core.travel.statements.tables import is_of_database, is_of_table, read_database_statement
from paimark.core.travel.statements.views import require_no_view

if TYPE_CHECKING:
    from paimark.core.statements.row_statement import RowStatement

_ASLEEP = ("stopped", "resting")

Cell = str | int | bool | None
Agree = Callable[[Action, Plan], None]


def refuse_destructive(action: Action, plan: Plan) -> None:
    """Raises `Refused` if the plan removes something, because no person was asked."""
    if plan.ask.phrase:
        raise Refused(f"{plan.summary.rstrip('.')}: nobody was asked whether to do that", plan.unchanged)


@dataclass(frozen=True)
class CallMode:
    """How to run an action. `agree` gets the plan first, and raises to stop it; `tell` gets each step.

    For a dry run `show` gets the plan, with its refusals, and nothing else is done. `note` is that of all
    statements; None for that of the settings. Unless it `asks`, it was agreed to before, and no scan counts
    rows for the plan: the result says how many there were.
    """

    agree: Agree = refuse_destructive
    tell: Progress = lambda line: None
    show: Callable[[Plan], None] | None = None
    note: Note | None = None
    asks: bool = True


def context_for(engine: Engine) -> Context:
    """The context of the statements that an engine runs: it opens the store once for all of them."""
    return context_of(engine.settings, lambda: engine)


def run_statement(
    context: Context,
    sql: str | Statement,
    *,
    database: str | None = None,
    limit: int | None = None,
    call: CallMode | None = None,
) -> Generator[Event]:
    """Run a statement or its text, and yield events as `Engine.run`. Starts Spark only if it is needed.

    The context has an engine. An action gives one row, its result; no event at all in a dry run.
    """
    try:
        statement = sql if isinstance(sql, Statement) else read_statement(sql)
        require_runnable(statement)
    except PaimarkError as error:
        yield Failed.of(error)
        return
    assert context.engine is not None
    engine = context.engine()
    current = engine.current_database(database)
    if statement.kind == "ask":
        # Imported here, as it is seldom needed, and the console's first frame never needs it.
        from paimark.core.statements.questions.answers import answers

        yield from answers(context, statement, current, limit, (call or CallMode()).tell)
    elif is_of_database(statement):
        from paimark.core.statements import tables

        yield from tables.database_events(context, statement, (call or CallMode()).tell)
    elif is_action(statement):
        yield from _run_action(context, engine, statement, current, limit, call or CallMode())
    else:
        if (
            engine.begins_anew
            and (answer := _answer_without_spark(context, engine, statement, current, limit)) is not None
        ):
            yield from answer
            return
        if engine.state in _ASLEEP:
            try:
                require_versions(context.files, statement, current)
            except PaimarkError as error:
                # Reported before Spark starts, which may take half a minute.
                yield Failed.of(error)
                return
        yield from engine.run(statement.sql, database=database, limit=limit)


def require_runnable(statement: Statement) -> None:
    """Refuse a statement that is not supported, or has a part that would have no effect, or would end Spark.

    The engine does not check the parts again.
    """
    if statement.kind == "empty":
        raise StatementFailed(
            "There is no statement to run", "Write one, such as SELECT * FROM database.table."
        )
    if is_unsupported(statement):
        raise foreign(statement) or unsupported(statement)
    if statement.kind == "explain":
        require_query_explained(statement)
    if is_of_database(statement):
        read_database_statement(statement)
    require_supported(statement)
    check_setting(statement)


def _answer_without_spark(
    context: Context, engine: Engine, statement: Statement, database: str | None, limit: int | None
) -> Iterator[Event] | None:
    """The events of a plain selection of a system table; None for a statement that needs Spark."""
    listing = read_listing(statement)
    zone = start_zone(engine.settings) if listing is not None and listing.has_times else "UTC"
    if listing is None or zone is None:
        return None
    return _listing_events(context.files, listing, database, limit, zone)


def _listing_events(
    files: Files, listing: Listing, database: str | None, limit: int | None, zone: str
) -> Iterator[Event]:
    began = time.monotonic()
    try:
        for event in events(files, listing, database, limit, zone):
            is_end = isinstance(event, Finished)
            yield replace(event, seconds=time.monotonic() - began) if is_end else event
    except PaimarkError as error:
        yield Failed.of(error)


def action_to_confirm(statement: Statement, database: str | None = None) -> ActionCall | None:
    """The action of a statement, for a caller that shows its plan first.

    None for an INSERT INTO, and for one that is no action. Raises `StatementFailed` for an invalid one.
    """
    # INSERT INTO removes nothing, so it runs like a query, without a dialog.
    is_shown = is_action(statement) and statement.kind != "insert"
    return action_call(statement, database)[0] if is_shown else None


def is_action(statement: Statement) -> bool:
    """Whether an action does it, with a plan, refusals and a question."""
    return statement.kind in ("call", "alter", "insert", "overwrite", *COMMANDS) or is_of_table(statement)


def is_unsupported(statement: Statement) -> bool:
    """Whether it would define something or remove rows, like CREATE TABLE and TRUNCATE, and is not supported.

    False for a statement with an unknown first word: usually it is misspelt, and Spark reports where.
    """
    if statement.kind == "other" or is_action(statement) or is_of_database(statement):
        return False
    return statement.removes_rows or statement.kind == "ddl"


def action_call(statement: Statement, database: str | None) -> tuple[ActionCall, RowStatement | None]:
    """The action of a statement; also the statement, if it writes rows. Raises `StatementFailed`.

    The comment before it that tells why is its message.
    """
    called, rows = _action_call(statement, database)
    if (said := message_of(statement)) is not None:
        called = dataclasses.replace(called, arguments={"message": said, **called.arguments})
    return called, rows


def _action_call(statement: Statement, database: str | None) -> tuple[ActionCall, RowStatement | None]:
    if is_of_table(statement):
        from paimark.core.statements.tables import action_of_table_statement

        return action_of_table_statement(statement, database)
    match statement.kind:
        case "alter":
            # Imported here: loading these takes a while, and the console's first frame doesn't need them.
            from paimark.core.statements.tables import action_of_alter

            return action_of_alter(statement, database), None
        case "insert" | "overwrite":
            from paimark.core.statements.insert import action_of_insert

            return action_of_insert(statement, database)
        case "delete" | "update" | "merge":
            from paimark.core.statements.row_change import action_of_change

            return action_of_change(statement, database)
    return action_of_call(statement, database), None


def _run_action(
    context: Context,
    engine: Engine,
    statement: Statement,
    database: str | None,
    limit: int | None,
    mode: CallMode,
) -> Iterator[Event]:
    began = time.monotonic()
    position = None
    translate: Callable[[str], str] = IN_SQL.translate if statement.kind == "call" else str
    try:
        require_no_view(statement, engine.views)
        called, rows_written = action_call(statement, database)
        context = dataclasses.replace(context, note=mode.note or context.note)
        position = called.table_position
        if called.condition and (nothing := _nothing_to_do(context.files, called)):
            yield Finished(0, False, time.monotonic() - began, nothing)
            return
        table = called.action.table(context.files, called.table.full_name)
        position = called.position
        planning = dataclasses.replace(context, progress=mode.tell, counts=mode.asks or mode.show is not None)
        if mode.show is not None:
            mode.show(called.action.plan(planning, table, called.arguments))
            return
        from paimark.core.actions.recover_first import plan_to_apply

        plan = plan_to_apply(called.action, planning, table, called.arguments)
        for refusal in plan.refusals[1:]:
            mode.tell(f"refused: {translate(refusal.reason)}")
        raise_first(plan.refusals)
        mode.agree(called.action, plan)
        if rows_written is not None:
            outcome = yield from rows_written.events(context, plan, mode.tell)
        else:
            outcome = called.action.apply(context, plan, mode.tell)
        facts: dict[str, Cell] = {"action": outcome.action, "table": outcome.table, **outcome.result}
        columns, rows = {name: _kind(cell) for name, cell in facts.items()}, [tuple(facts.values())]
        back = undone_by(outcome.undo, outcome.until).text
        undo = f". To take it back: {back}" if outcome.undo else ""
        message = translate(outcome.message.rstrip(".") + undo)
    except PaimarkError as error:
        failed = Failed.of(error, position)
        yield replace(failed, message=translate(failed.message), hint=translate(failed.hint))
        return
    shown = rows if limit is None else rows[:limit]
    yield Columns(tuple(columns), tuple(columns.values()))
    if shown:
        yield cells_batch(columns, shown)
    if outcome.falls_short:
        # A script must not go on as if all were done.
        yield Failed(
            message, "Others committed meanwhile, and it did less than was planned: look at it first."
        )
    else:
        yield Finished(len(shown), len(shown) < len(rows), time.monotonic() - began, message)


def _nothing_to_do(files: Files, called: ActionCall) -> str:
    """Why IF EXISTS or IF NOT EXISTS leaves nothing to do; empty if there is something."""
    is_there, name = table_exists(files, called.table), called.table.full_name
    if is_there == (called.condition == "if exists"):
        return ""
    return f"There is {'a table ' + name + ' already' if is_there else 'no table ' + name}: nothing was done"


def _kind(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "boolean"
    return "bigint" if isinstance(cell, int) else "string"
