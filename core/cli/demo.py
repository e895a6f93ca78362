"""`paimark demo`: a small real warehouse to try everything on."""

from __future__ import annotations

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
from paimark.core.demo.directory import check_directory
from paimark.core.errors import Refused
from paimark.core.export.json_rows import json_text
from paimark.core.shell import shell_line

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
@click.option("--no-open", is_flag=True, help="Build it, and print where it is and what to try.")
@click.pass_context
def demo(ctx: click.Context, directory: str, no_open: bool) -> int:
    """Build a small real warehouse and open the console on it.

    DIR is ./paimark-demo. An earlier demo there is rebuilt, anything else refused. Without a terminal the
    tour runs instead: a savepoint is made and read back with Spark.
    """
    options = global_options(ctx)
    target = Path(directory).expanduser().absolute()
    if options.read_only or read_only_environment():
        raise Refused(
            "A demo can't be built in read-only mode", "Leave out --read-only and PAIMARK_READ_ONLY."
        )
    check_directory(target)
    if options.dry_run:
        click.echo(f"paimark demo would build the database shop in {target}")
        return 0
    narrate(f"Building the demo warehouse in {target}")
    from paimark.core.demo.build import build_demo

    build_demo(target, narrate)
    if no_open:
        _say_where(target, as_json=options.as_json)
    elif has_terminal():
        options.warehouse, options.context, options.start = str(target), None, "shop.orders"
        return open_console(replace(options.settings(), offers_tour=True))
    else:
        _tour(target, options)
    return 0


def _say_where(target: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_text([{"warehouse": str(target)}]))
        return
    click.echo(f"The demo warehouse is in {target}")
    click.echo("\n".join([*STORY, "", "Try:"]))
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
