"""`paimark blame`: which commit wrote each of some rows last."""

from __future__ import annotations

import click

from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import row_writer, show
from paimark.core.cli.query.answering import Narrator, asking
from paimark.core.figures import moment
from paimark.core.statements.questions.blame import Blame, unknown_said
from paimark.core.statements.questions.history import written_by

_NAMES = ("key", "snapshot_id", "version", "time_millis", "commit_user")
_SHOWN = ("key", "version", "time", "writer")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option("--where", metavar="CONDITION", help="The rows of now, as after WHERE.")
@click.option("--partition", metavar="TEXT", help="Or those of partitions: day=2026-05-01.")
@click.option("--keys", metavar="TEXT", help="Or of keys: 42,43; JSON; @FILE with one a line.")
@click.option("--branch", metavar="NAME", help="Look at this branch; main when not given.")
@click.pass_context
def blame(
    ctx: click.Context,
    table: str,
    where: str | None,
    partition: str | None,
    keys: str | None,
    branch: str | None,
) -> None:
    """Tell which commit wrote each of some rows of TABLE last, newest first.

    \b
      paimark blame shop.orders --where "price < 0"

    The table needs a primary key. Only commits are looked into whose files may hold one of the rows, the
    newest 200 of them, and only as far as no snapshot between has expired.
    """
    options = global_options(ctx)
    narrator = Narrator()
    told = list[tuple[object, ...]]()
    unknown = 0
    with asking(options, table) as (context, path):
        narrator.wait("Starting Spark")
        search = Blame(context, path, branch, {"where": where, "partition": partition, "keys": keys})
        for key, version, commit in search.find(narrator.wait):
            named = key if options.as_json else ", ".join(f"{name}={key[name]}" for name in key)
            if version is None or commit is None:
                unknown += 1
                told.append((named, *(None,) * (len(_NAMES if options.as_json else _SHOWN) - 1)))
            elif options.as_json:
                told.append((named, commit.id, version.name, commit.time_millis, commit.commit_user))
            else:
                told.append((named, version.name, moment(commit.time_millis), written_by(commit)))
    narrator.clear()
    if not told and not options.as_json:
        show("No such row is there now.")
        return
    writer = row_writer(options, _NAMES if options.as_json else _SHOWN)
    writer.write(told)
    writer.close()
    if unknown:
        narrator.say(unknown_said(unknown))
