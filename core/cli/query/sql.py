"""`paimark sql`: statements, their rows streamed to stdout or into a file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.cli.completing import DATABASE
from paimark.core.cli.options import AtLeast, GlobalCommand, GlobalOptions, global_options, takes_note
from paimark.core.cli.output import give_up, narrate
from paimark.core.cli.plans import confirm, require_terminal, require_writable, say_plan, terminal_width
from paimark.core.cli.query.answering import (
    Narrator,
    RowSink,
    ended_by_signals,
    open_engine,
    result_path,
    show_events,
)
from paimark.core.cli.query.result import FileResult, PrintedResults
from paimark.core.config import Settings
from paimark.core.errors import NotFound, Refused, StatementFailed, UsageError
from paimark.core.statements.call import ActionCall
from paimark.core.statements.run import CallMode, context_for, is_action, require_runnable, run_statement
from paimark.core.statements.script import Numbered, ScriptStatement, naming, read_script, require_allowed
from paimark.core.table.catalog import require_database
from paimark.core.table.lineage.notes import Note, checked
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.shows import only_shows

# In seconds.
_LONG = 1.0
_FOR_SESSION = (
    "Write the statements that need it behind it, with ; between them. --database chooses a database, and "
    "--spark-conf spark.sql.session.timeZone=UTC sets something."
)


@click.command(cls=GlobalCommand)
@click.argument("statement", metavar="[SQL]", required=False)
@click.option("-f", "--file", metavar="FILE", help="Read the statements from a file; - is stdin.")
@click.option("--limit", type=AtLeast(min=0), metavar="N", help="At most N rows of each statement.")
@click.option(
    "--database", metavar="NAME", type=DATABASE, help="The database of tables that are named without one."
)
@click.option("-o", "out", metavar="FILE", help="Write the rows to FILE.csv, .json, .parquet or .arrow.")
@takes_note
@click.pass_context
def sql(
    ctx: click.Context,
    statement: str | None,
    file: str | None,
    limit: int | None,
    database: str | None,
    out: str | None,
    message: str | None,
    author: str | None,
) -> None:
    """Run statements with Spark; with - for SQL they are read from stdin.

    Several statements with ; between them run in order, up to the first that fails. A table can be read AS OF
    a snapshot, a savepoint, a tag or a time. Rows go to stdout as they come; stderr says which snapshot each
    table was read at. Every action is a procedure too, such as CALL sys.create_savepoint(table => 'db.t'),
    with --dry-run for its plan.
    """
    options = global_options(ctx)
    path = result_path(out)
    text = _text(statement, file)
    settings = options.settings()
    note = checked(message or "", author or settings.author)
    with _pointing(text):
        script = read_script(text)
        require_result_file(script, path, dry_run=options.dry_run)
        if (message or author) and not any(is_action(each.statement) for each in script):
            raise UsageError("No statement changes a table", "Leave --message and --author out.")
        _check(script, options, settings, database)
    engine = open_engine(settings)
    context = context_for(engine)
    if database is not None:
        require_database(context.files, database)
    with ended_by_signals(), closing(engine):
        run_script(context, script, text, options, ScriptOptions(database, limit, path, note))


@contextmanager
def _pointing(text: str) -> Iterator[None]:
    """Show the place of an error in the text."""
    try:
        yield
    except StatementFailed as error:
        if error.position is not None:
            Narrator().point(text, error.position)
        raise


def _check(
    script: Sequence[ScriptStatement], options: GlobalOptions, settings: Settings, database: str | None
) -> None:
    """Refuse statements that may not run, before Spark starts and any of them runs."""
    if all(_is_for_session(each.statement) for each in script):
        raise Refused("Nothing of that would be left when the command ends", _FOR_SESSION)

    def require(statement: Statement, called: ActionCall | None) -> None:
        # What an unknown word begins never runs: it is misspelt, and Spark says where.
        if not statement.writes or statement.kind == "other":
            return
        if is_action(statement):
            # The plan of the action shows, refuses and asks.
            if not options.dry_run:
                require_writable(settings)
                _require_agreement(called, options)
            return
        require_runnable(statement)
        require_writable(settings)
        if options.dry_run:
            raise Refused("A statement that writes has no dry run", "It was not run.")

    require_allowed(script, database, require)


def _require_agreement(called: ActionCall | None, options: GlobalOptions) -> None:
    """Refuse an action of a script that must be agreed to, if nobody can be asked."""
    if called is not None and called.action.asks and not options.yes:
        require_terminal()


def _is_for_session(statement: Statement) -> bool:
    return statement.kind in ("session", "view") and not only_shows(statement)


def _text(statement: str | None, file: str | None) -> str:
    if (statement is None) == (file is None):
        said = "There is no statement" if file is None else "SQL and --file are both given"
        raise UsageError(said, 'paimark sql "SELECT ..." | -f FILE | - for stdin.')
    if "-" in (statement, file):
        return sys.stdin.read().removeprefix("\ufeff")
    if statement is not None:
        return statement
    try:
        with _says_if_it_waits(Path(str(file))):
            # Windows writes a byte order mark before the text.
            return Path(str(file)).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not text in UTF-8", "Save it in that encoding.") from error
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror or error}") from error


@contextmanager
def _says_if_it_waits(path: Path) -> Iterator[None]:
    """While a named pipe is read, which nobody may ever write: say so if that takes long."""
    if not path.is_fifo():
        yield
        return
    waiting = threading.Timer(_LONG, narrate, [f"Waiting for a program that writes {path}: it is a pipe"])
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()


_HAVE_ROWS = ("query", "show", "describe", "ask")
_AS_NOW = (
    "Each statement is planned on the tables as they are now: what those before it would change is not there"
)


class ScriptOptions(NamedTuple):
    """`limit` is the most rows of each statement; the rows go to `path`, if there is one.

    `note` is that of each change that has none of its own.
    """

    database: str | None
    limit: int | None
    path: Path | None
    note: Note


def require_result_file(
    script: Sequence[ScriptStatement], path: Path | None, *, dry_run: bool = False
) -> None:
    """Raises `UsageError` if the rows of these statements can't go to one file."""
    if path is None:
        return
    if dry_run and all(is_action(each.statement) for each in script):
        raise UsageError("A plan has no rows to write to a file", "Leave -o out, or redirect stdout.")
    if all(each.statement.kind == "explain" for each in script):
        raise UsageError("EXPLAIN has no rows to write to a file", "Leave -o out, or redirect stdout.")
    having = sum(_has_rows(each.statement) for each in script)
    if len(script) > 1 and having != 1:
        raise UsageError(
            f"-o takes the rows of one statement, and {having or 'none'} of these {len(script)} "
            f"{'has' if having == 1 else 'have'} rows",
            "Run them one by one, or leave -o out: all rows go to stdout.",
        )


def run_script(
    context: Context,
    script: Sequence[ScriptStatement],
    text: str,
    options: GlobalOptions,
    wanted: ScriptOptions,
) -> None:
    """Run the statements of a `text`. Raises the error of the first that fails."""
    assert context.engine is not None
    narrator, printed, engine = Narrator(), PrintedResults(options, len(script)), context.engine()
    if options.dry_run and len(script) > 1:
        narrator.say(_AS_NOW)
    try:
        for each in script:
            narrator.label = each.place.label
            with _stopping(each.place, narrator, "planned" if options.dry_run else "run"):
                agree, show = partial(_agree, options, narrator), partial(printed.plan, narrator)
                shown = show if options.dry_run else None
                mode = CallMode(agree, narrator.step, shown, wanted.note, asks=not options.yes)
                if not is_action(each.statement) and engine.state != "ready":
                    narrator.wait("Starting Spark")
                events = run_statement(
                    context, each.statement, database=wanted.database, limit=wanted.limit, call=mode
                )
                sink = _sink(each, wanted.path, printed)
                show_events(events, text, sink, narrator, each.place.base)
    finally:
        printed.close()


def _sink(each: ScriptStatement, path: Path | None, printed: PrintedResults) -> RowSink:
    if path is None:
        return printed.next()
    if each.place.count == 1 or _has_rows(each.statement):
        return FileResult(path)
    # What it did is said on stderr.
    return RowSink()


@contextmanager
def _stopping(place: Numbered, narrator: Narrator, done: str) -> Iterator[None]:
    """Say of the other statements what was run, if this one fails or is interrupted."""
    try:
        with naming(place, place.rest(done)):
            yield
    except KeyboardInterrupt:
        if place.count > 1:
            narrator.say(f"Interrupted at {place.label}. {place.rest(done)}".strip())
        raise
    except BrokenPipeError as error:
        if place.number == place.count:
            raise
        give_up(sys.stdout)
        raise StatementFailed(
            f"The reader of the output has closed it at {place.label}", place.rest(done)
        ) from error


def _agree(options: GlobalOptions, narrator: Narrator, action: Action, plan: Plan) -> None:
    """Show what an action will do, and ask before an irreversible change. Raises `Refused`."""
    say_plan(plan, narrator.say, terminal_width(sys.stderr), verbose=options.verbose)
    if not options.yes:
        confirm(plan)
    if "statement" in plan.arguments:
        narrator.wait("Starting Spark")


def _has_rows(statement: Statement) -> bool:
    return statement.kind in _HAVE_ROWS
