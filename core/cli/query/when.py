"""`paimark when`: since when a table has rows that satisfy a condition."""

from __future__ import annotations

import click

from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import row_writer, show
from paimark.core.cli.query.answering import Narrator, asking
from paimark.core.figures import counted, moment
from paimark.core.statements.questions.when import When, sentences
from paimark.core.travel.when import Count

_EACH = ("snapshot_id", "version", "time_millis", "rows")
_FOUND = (*_EACH, "before_snapshot_id", "before_version", "expired_between")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.argument("condition", metavar="CONDITION")
@click.option("--branch", metavar="NAME", help="Search this branch; main when not given.")
@click.option("--from", "old", metavar="V", help="The oldest version to look at.")
@click.option("--to", "new", metavar="V", help="The newest version to look at.")
@click.option("--all", "every", is_flag=True, help="Count each version, instead of a search by halves.")
@click.pass_context
def when(
    ctx: click.Context,
    table: str,
    condition: str,
    branch: str | None,
    old: str | None,
    new: str | None,
    every: bool,
) -> None:
    """Find the first version of TABLE with rows that satisfy CONDITION.

    \b
      paimark when shop.orders "price < 0"

    The versions are the snapshots, and those that only a tag or savepoint keeps. The search goes by halves:
    of 10,000 versions it counts 15. It finds one version with such rows behind one without. If they came,
    went and came again, there are more: --all looks at each version. A column is called as it is now; in a
    version without it, it is null.
    """
    options = global_options(ctx)
    narrator = Narrator()
    with asking(options, table) as (context, path):
        search = When(context, path, branch, condition, old, new)
        narrator.wait("Starting Spark")
        if every:
            writer = row_writer(options, _EACH)
            for each in search.every(narrator.wait):
                narrator.clear()
                writer.write([_row(each)])
            writer.close()
            return
        found = search.find(narrator.wait, lambda each: narrator.say(_told(each)))
    narrator.clear()
    if options.as_json:
        writer = row_writer(options, _FOUND)
        before = (None, None) if found.before is None else _row(found.before)[:2]
        writer.write([(*_row(found.first), *before, found.gone)])
        writer.close()
        return
    for line in sentences(found, condition, path, context.clock()):
        show(line)


def _row(count: Count) -> tuple[int, str, int, int]:
    return count.version.snapshot_id, count.version.name, count.time_millis, count.rows


def _told(count: Count) -> str:
    return f"  {count.version.label}, {moment(count.time_millis)}: {counted(count.rows, 'row')}"
