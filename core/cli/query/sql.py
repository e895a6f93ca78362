"""`paimark sql`: statements, their rows streamed to stdout or into a file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import click

from paimark.core.cli.asking import require_terminal, require_writable
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import narrate
from paimark.core.cli.query.answering import ended_by_signals, open_engine, result_path
from paimark.core.cli.query.narrator import Narrator
from paimark.core.cli.query.script import ScriptOptions, require_result_file, run_script
from paimark.core.config import Settings
from paimark.core.errors import NotFound, Refused, StatementFailed, UsageError
from paimark.core.statements.call import ActionCall
from paimark.core.statements.run import is_action, require_runnable
from paimark.core.statements.script import ScriptStatement, read_script, require_allowed
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import require_database
from paimark.core.travel.parse.uses import Statement
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
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most N rows of each statement.")
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
    with _pointing(text):
        script = read_script(text)
        require_result_file(script, path, dry_run=options.dry_run)
        _check(script, options, settings, database)
    if database is not None:
        require_database(open_files(settings.warehouse, settings.options), database)
    engine = open_engine(settings)
    with ended_by_signals(), closing(engine):
        run_script(engine, script, text, options, ScriptOptions(database, limit, path))


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
