"""Run the statements of a text in order, up to the first that fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.cli.asking import confirm
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import give_up
from paimark.core.cli.plans import say_plan, terminal_width
from paimark.core.cli.query.answering import RowSink, show_events
from paimark.core.cli.query.narrator import Narrator
from paimark.core.cli.query.result import NoResult, PrintedResult, PrintedResults
from paimark.core.errors import StatementFailed, UsageError
from paimark.core.spark.client.client import Engine
from paimark.core.statements.run import CallMode, is_action, run_statement
from paimark.core.statements.script import Numbered, ScriptStatement, naming
from paimark.core.travel.parse.uses import Statement

_HAVE_ROWS = ("query", "show", "describe", "ask")
_AS_NOW = (
    "Each statement is planned on the tables as they are now: what those before it would change is not there"
)


class ScriptOptions(NamedTuple):
    """`limit` is the most rows of each statement; the rows go to `path`, if there is one."""

    database: str | None
    limit: int | None
    path: Path | None


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
    engine: Engine,
    script: Sequence[ScriptStatement],
    text: str,
    options: GlobalOptions,
    wanted: ScriptOptions,
) -> None:
    """Run the statements of a `text`. Raises the error of the first that fails."""
    narrator, printed = Narrator(), PrintedResults(options, len(script))
    if options.dry_run and len(script) > 1:
        narrator.say(_AS_NOW)
    try:
        for each in script:
            narrator.label = each.place.label
            with _stopping(each.place, narrator, "planned" if options.dry_run else "run"):
                agree, show = partial(_agree, options, narrator), partial(printed.plan, narrator)
                mode = CallMode(agree, narrator.step, show if options.dry_run else None)
                if not is_action(each.statement) and engine.state != "ready":
                    narrator.wait("Starting Spark")
                events = run_statement(
                    engine, each.statement, database=wanted.database, limit=wanted.limit, call=mode
                )
                sink = _sink(each, options, wanted.path, printed)
                show_events(events, text, sink, narrator, each.place.base)
    finally:
        printed.close()


def _sink(
    each: ScriptStatement, options: GlobalOptions, path: Path | None, printed: PrintedResults
) -> RowSink:
    if path is None:
        return printed.next()
    if each.place.count == 1 or _has_rows(each.statement):
        return PrintedResult(options, path)
    # What it did is said on stderr.
    return NoResult()


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
    if plan.ask.phrase and not options.yes:
        confirm(plan.ask.phrase)
    if "statement" in plan.arguments:
        narrator.wait("Starting Spark")


def _has_rows(statement: Statement) -> bool:
    return statement.kind in _HAVE_ROWS
