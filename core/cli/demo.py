"""`paimark demo`: a small real warehouse to try everything on."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from paimark.core.cli.launch import has_terminal, open_console
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import narrate
from paimark.core.cli.root import invoke
from paimark.core.config import read_only_environment
from paimark.core.demo.directory import DATABASE, is_demo, tables_there
from paimark.core.demo.placing import tidy_up
from paimark.core.errors import Refused
from paimark.core.export.json_rows import json_text
from paimark.core.quoting import shell_line
from paimark.core.working_directory import absolute

STORY = (
    "The twelfth load of shop.orders came with prices below zero.",
    "The branch fix_prices, made from the tag month-end, has them right.",
    "Snapshots 1 to 4 have expired; savepoint 1 still reads snapshot 4.",
)
TRY = (
    ("snapshots", "shop.orders", "--limit", "5"),
    ("savepoints", "shop.orders"),
    ("create-savepoint", "shop.orders", "--comment", "before the fix"),
    ("create-branch", "shop.orders", "--name", "mine", "--tag", "month-end"),
    ("delete-savepoint", "shop.orders", "--id", "1", "--dry-run"),
    ("sql", "SELECT count(*) AS n FROM shop.orders VERSION AS OF 'savepoint.1'"),
    (
        "sql",
        "SELECT status, count(*) AS n FROM shop.orders"
        " FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP - INTERVAL '1' DAY GROUP BY status",
    ),
)
TOUR = (
    ("savepoints", "shop.orders"),
    ("create-savepoint", "shop.orders", "--comment", "made by the tour"),
    (
        "sql",
        "SELECT o.order_id, o.product, o.price AS saved, f.price AS fixed"
        " FROM shop.orders VERSION AS OF 'savepoint.2' AS o"
        " JOIN shop.`orders$branch_fix_prices` AS f ON o.order_id = f.order_id"
        " WHERE o.price < 0 ORDER BY o.order_id LIMIT 10",
    ),
)


@click.command(cls=GlobalCommand)
@click.argument("directory", metavar="[DIR]", default="paimark-demo")
@click.option("--no-open", is_flag=True, help="Do not open it: print where it is and what to try.")
@click.option("--fresh", is_flag=True, help="Build the tables of an earlier demo anew, after a question.")
@click.pass_context
def demo(ctx: click.Context, directory: str, no_open: bool, fresh: bool) -> int:
    """Build a small real warehouse and open the console on it.

    DIR is ./paimark-demo. An earlier demo there is opened as it is, anything else refused. --fresh drops the
    demo's own tables, which go to the trash, and builds them anew; all others stay. Without a terminal the
    tour of a new demo runs instead: a savepoint is made and read back with Spark.
    """
    options = global_options(ctx)
    target = Path(absolute(os.path.expanduser(directory)))
    read_only = options.read_only or read_only_environment()
    if there := is_demo(target):
        if not (read_only or options.dry_run):
            tidy_up(target)
        there = bool(tables_there(target))
    if there and not fresh:
        return _open(target, options, no_open=no_open)
    if read_only:
        raise Refused(
            "A demo can't be built in read-only mode", "Leave out --read-only and PAIMARK_READ_ONLY."
        )
    if there:
        _build_anew(target, options)
    elif not options.dry_run:
        narrate(f"Building the demo warehouse in {target}")
        from paimark.core.demo.build import build_demo

        build_demo(target, narrate)
    else:
        click.echo(f"paimark demo would build the database shop in {target}")
    if options.dry_run:
        return 0
    if no_open:
        _say_where(target, as_json=options.as_json, told=STORY)
    elif has_terminal():
        return _open_console(target, options, offers_tour=True)
    else:
        _tour(target, options)
    return 0


def _build_anew(target: Path, options: GlobalOptions) -> None:
    """Show what would go, ask, and build it anew."""
    from paimark.core.actions.context import Context, Progress, open_context
    from paimark.core.actions.plan import Outcome, Plan
    from paimark.core.actions.registry import Action
    from paimark.core.cli.changes.actions import carry_out
    from paimark.core.demo.build import build_demo
    from paimark.core.demo.placing import plan_fresh

    def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
        build_demo(target, progress, fresh=plan)
        return Outcome(action="demo", table="", message=f"Built the demo in {target} anew", result={})

    plan = plan_fresh(target)
    action = Action("demo", "Build the demo anew.", (), lambda *given: plan, apply)
    carry_out(action, open_context(str(target), {}, read_only=False), plan, options)


def _open(target: Path, options: GlobalOptions, *, no_open: bool) -> int:
    """Open a demo as it is."""
    if options.dry_run:
        click.echo(f"paimark demo would open the demo in {target} as it is")
    elif has_terminal() and not no_open:
        narrate(f"This is the demo in {target} as it was left. `paimark demo --fresh` builds it anew.")
        return _open_console(target, options, offers_tour=False)
    else:
        kept = ("It is as it was left; `paimark demo --fresh` builds it anew.",)
        _say_where(target, as_json=options.as_json, told=kept)
    return 0


def _open_console(target: Path, options: GlobalOptions, *, offers_tour: bool) -> int:
    there = tables_there(target)
    start = f"{DATABASE}.{'orders' if 'orders' in there else there[0]}"
    options.warehouse, options.context, options.start = str(target), None, start
    return open_console(replace(options.settings(), offers_tour=offers_tour))


def _say_where(target: Path, *, as_json: bool, told: Sequence[str]) -> None:
    if as_json:
        click.echo(json_text([{"warehouse": str(target)}]))
        return
    click.echo(f"The demo warehouse is in {target}")
    click.echo("\n".join([*told, "", "Try:"]))
    quoted = shlex.quote(str(target))
    click.echo(f"  paimark {quoted}\n  export PAIMARK_WAREHOUSE={quoted}")
    for words in TRY:
        click.echo(f"  {_typed(words)}")


def _tour(target: Path, options: GlobalOptions) -> None:
    for line in STORY:
        narrate(line)
    before = ["--warehouse", str(target), "--output", options.output]
    if options.spark_master:
        before += ["--spark-master", options.spark_master]
    for key, value in options.spark_conf.items():
        before += ["--spark-conf", f"{key}={value}"]
    for words in TOUR:
        narrate(f"$ {_typed(words)}")
        invoke([*before, *words])
        sys.stdout.flush()
    narrate(f"The console opens on it with: paimark {shlex.quote(str(target))}")


def _typed(words: Sequence[str]) -> str:
    return shell_line(["paimark", *words])
