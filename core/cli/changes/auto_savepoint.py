"""`paimark auto-savepoint`: make the savepoints that are due, once for cron or continuously as a service."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Event, Thread
from types import FrameType

import click

from paimark.core.actions.context import Context, context_of
from paimark.core.actions.plan import Outcome, Plan, raise_first
from paimark.core.actions.savepoints import auto_savepoint as automatic
from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import narrate, row_writer, show
from paimark.core.cli.plans import require_writable, show_dry_run, show_plans
from paimark.core.cli.query.answering import ended_by_signals
from paimark.core.errors import PaimarkError, Refused, UsageError
from paimark.core.export.json_rows import json_text
from paimark.core.figures import counted
from paimark.core.table.catalog import databases, find_table
from paimark.core.table.catalog import tables as tables_of
from paimark.core.table.layout import TablePath

_FORM = "paimark auto-savepoint TABLE | --all [--once | --watch]."
_STOPPED_BY = (signal.SIGTERM, signal.SIGINT)


@click.command("auto-savepoint", cls=GlobalCommand)
@click.argument("table", metavar="[TABLE]", required=False, type=TABLE)
@click.option("--all", "every", is_flag=True, help="Every table of the warehouse that has the option.")
@click.option("--once", is_flag=True, help="Make those that are due now, and end, as without it: for cron.")
@click.option(
    "--watch", is_flag=True, help="Make each as it falls due, until SIGTERM or ctrl+c: for a service."
)
@click.option("--branch", metavar="NAME", help="A branch of TABLE, with --once; main when not given.")
@click.pass_context
def auto_savepoint(
    ctx: click.Context, table: str | None, every: bool, once: bool, watch: bool, branch: str | None
) -> None:
    """Make the savepoints that the table option savepoint.create-interval asks for.

    One is due when that long (1 h, 30 min, 1 d) has passed since the last and there is a newer snapshot. Each
    is one line on stdout. --watch looks at each table once a minute, and makes no more than one in that.
    """
    if (table is None) != every:
        raise UsageError("Name one table, or give --all", _FORM)
    if once and watch:
        raise UsageError("--once and --watch exclude each other", _FORM)
    if branch is not None and (every or watch):
        raise UsageError("--branch goes with one TABLE and --once", _FORM)
    options = global_options(ctx)
    if watch and options.dry_run:
        raise UsageError("--watch has no dry run", "--once --dry-run says what is due now.")
    settings = options.settings()
    if not options.dry_run:
        require_writable(settings)
    context = context_of(settings)
    if watch:
        _watch(context, table, options)
        return
    with ended_by_signals():
        if table is None:
            _all_once(context, options)
        else:
            _one_once(context, find_table(context.files, table), branch, options)


def _one_once(context: Context, table: TablePath, branch: str | None, options: GlobalOptions) -> None:
    plan = automatic.plan(context, table, {"branch": branch})
    if options.dry_run:
        show_dry_run(plan, options)
        return
    raise_first(plan.refusals)
    if plan.empty:
        narrate(plan.summary)
    _print_outcomes(_outcomes(context, plan, options), options)


def _all_once(context: Context, options: GlobalOptions) -> None:
    """Make the due savepoints of all tables. A table that fails does not stop the others."""
    outcomes: list[Outcome] = []
    plans: list[Plan] = []
    failed = 0
    for table in _every_table(context):
        try:
            plan = automatic.plan(context, table, {"branch": None})
            if options.dry_run:
                plans += [] if plan.empty else [plan]
            else:
                outcomes += _outcomes(context, plan, options)
        except PaimarkError as error:
            failed += 1
            narrate(f"{table.full_name}: {error.message}")
    if options.dry_run:
        show_plans(plans, options)
    else:
        _print_outcomes(outcomes, options)
    if failed:
        raise Refused(f"{counted(failed, 'table')} could not be looked after")


def _outcomes(context: Context, plan: Plan, options: GlobalOptions) -> list[Outcome]:
    """The outcome; an empty list if no savepoint was due, or another watcher makes it."""
    outcome = automatic.apply(context, plan, lambda line: None)
    if outcome.result["savepoint_id"] is None:
        return []
    if not options.as_json:
        show(outcome.message)
    return [outcome]


def _print_outcomes(outcomes: Sequence[Outcome], options: GlobalOptions) -> None:
    if options.as_json:
        facts = [{"action": each.action, "table": each.table, **each.result} for each in outcomes]
        click.echo(json_text(facts))


def _watch(context: Context, table: str | None, options: GlobalOptions) -> None:
    """Run until a signal arrives; finish the savepoint in progress. A second signal does not wait for it."""
    watched = f"Watching {counted(len(_every_table(context)), 'table')}"
    if table is not None:
        plan = automatic.plan(context, find_table(context.files, table), {"branch": None})
        watched = f"Watching {table}: {plan.summary}"

    def tables() -> Sequence[TablePath]:
        return _every_table(context) if table is None else [find_table(context.files, table)]

    stop = Event()
    rows = row_writer(options, ["message"]) if options.as_json else None

    def tell(line: str) -> None:
        if rows is None:
            show(line)
        else:
            # `Remark` is a subclass of `str` that the JSON encoder does not know.
            rows.write([[str(line)]])
            sys.stdout.flush()

    # A signal handler may interrupt a wait on `Event`; only this queue is safe to put to from a handler.
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        try:
            automatic.watch(context, tables, stop, tell)
        except BaseException as error:
            # The edge of the thread: the main thread raises it.
            ended.put(error)
        else:
            ended.put(None)

    def asked_to_stop(number: int, frame: FrameType | None) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        ended.put(None)

    worker = Thread(target=work, name="paimark-watch", daemon=True)
    before = {each: signal.signal(each, asked_to_stop) for each in _STOPPED_BY}
    try:
        worker.start()
        narrate(watched)
        error = ended.get()
        stop.set()
        worker.join()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if error is not None:
        raise error
    if rows is not None:
        rows.close()


def _every_table(context: Context) -> list[TablePath]:
    return [table for name in databases(context.files) for table in tables_of(context.files, name)]
