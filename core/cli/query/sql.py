"""`paimark sql`: one statement, its rows streamed to stdout or into a file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import click

from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action, must_be_agreed_to
from paimark.core.cli.asking import confirm, require_writable
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import narrate
from paimark.core.cli.plans import say_plan
from paimark.core.cli.query.answering import ended_by_signals, open_engine, result_path, show_events
from paimark.core.cli.query.narrator import Narrator
from paimark.core.cli.query.result import PrintedResult
from paimark.core.config import Settings
from paimark.core.errors import NotFound, Refused, StatementFailed, UsageError
from paimark.core.statements.run import CallMode, is_action, run_statement
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import require_database
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.shows import only_shows

# In seconds.
_LONG = 1.0
_IN_ONE_STATEMENT = (
    "--database chooses a database, --spark-conf spark.sql.session.timeZone=UTC sets something for it, and "
    "WITH names a query."
)


@click.command(cls=GlobalCommand)
@click.argument("statement", metavar="[SQL]", required=False)
@click.option("-f", "--file", metavar="FILE", help="Read the statement from a file; - is stdin.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most N rows; all when not given.")
@click.option("--database", metavar="NAME", help="The database of tables that are named without one.")
@click.option("-o", "out", metavar="FILE", help="Write the rows to FILE.csv, .json, .parquet or .arrow.")
@click.pass_context
def sql(
    ctx: click.Context,
    statement: str | None,
    file: str | None,
    limit: int | None,
    database: str | None,
    out: str | None,
) -> None:
    """Run one statement with Spark; with - for SQL it is read from stdin.

    A table can be read AS OF a snapshot, a savepoint, a tag or a time. Rows go to stdout as they come; stderr
    says which snapshot each table was read at. Every action is a procedure too, such as
    CALL sys.create_savepoint(table => 'db.t'), with --dry-run for its plan.
    """
    options = global_options(ctx)
    path = result_path(out)
    text = _text(statement, file)
    settings = options.settings()
    read = _read(text)
    if path is not None and read.kind == "explain":
        raise UsageError("EXPLAIN has no rows to write to a file", "Leave -o out, or redirect stdout.")
    _check(read, options, settings)
    if database is not None:
        require_database(open_files(settings.warehouse, settings.options), database)
    engine = open_engine(settings)
    narrator = Narrator()
    mode = CallMode(partial(_agree, options, narrator), narrator.step, options.dry_run)
    with ended_by_signals(), closing(engine):
        if not is_action(read):
            narrator.wait("Starting Spark")
        events = run_statement(engine, read, database=database, limit=limit, call=mode)
        show_events(events, text, PrintedResult(options, path), narrator)


def _agree(options: GlobalOptions, narrator: Narrator, action: Action, plan: Plan) -> None:
    """Show what an action will do, and ask before an irreversible change. Raises `Refused`."""
    say_plan(plan, narrator.say, with_steps=narrator.is_live)
    if must_be_agreed_to(action, plan) and not options.yes:
        confirm(plan.summary)
    if action.name.startswith("insert-"):
        narrator.wait("Starting Spark")


def _read(text: str) -> Statement:
    try:
        return read_statement(text)
    except StatementFailed as error:
        if error.position is not None:
            Narrator().point(text, error.position)
        raise


def _check(statement: Statement, options: GlobalOptions, settings: Settings) -> None:
    """Refuse a statement that may not run, before Spark starts."""
    if statement.kind in ("session", "view") and not only_shows(statement):
        raise Refused("Nothing of that would be left: `paimark sql` runs one statement", _IN_ONE_STATEMENT)
    if not statement.writes:
        return
    if not (is_action(statement) and options.dry_run):
        require_writable(settings)
    if is_action(statement):
        # The plan of the action shows, refuses and asks.
        return
    if options.dry_run:
        raise Refused("A statement that writes has no dry run", "It was not run.")


def _text(statement: str | None, file: str | None) -> str:
    if (statement is None) == (file is None):
        raise UsageError("Give one statement", 'paimark sql "SELECT ..." | -f FILE | - for stdin.')
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
