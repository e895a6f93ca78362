"""`paimark holders`: which versions of a table still have some rows, and how to let go of them."""

from __future__ import annotations

import click

from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import row_writer, show
from paimark.core.cli.query.answering import Narrator, asking
from paimark.core.statements.questions.history import key_values
from paimark.core.statements.questions.holders import Holders, sentence

_SHOWN = ("what", "name", "snapshot_id", "rows")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option("--where", metavar="CONDITION", help="The rows, as after WHERE.")
@click.option("--key", "key", metavar="C=V", multiple=True, help="A column and its value, in place of it.")
@click.pass_context
def holders(ctx: click.Context, table: str, where: str | None, key: tuple[str, ...]) -> None:
    """Tell which versions of TABLE still have some rows, and how to let go of them all.

    \b
      paimark holders shop.orders --key order_id=42

    All versions are counted: of main and each branch, the archived ones among them, by snapshots, tags and
    savepoints. Nothing is deleted: what is printed are commands in the order in which they can be run, after
    which no file has the rows any more. Each shows its plan, and what else goes with it.
    """
    options = global_options(ctx)
    narrator = Narrator()
    with asking(options, table) as (context, path):
        narrator.wait("Starting Spark")
        search = Holders(context, path, where, key_values(key, "--key"))
        found = list(search.find(narrator.wait))
    narrator.clear()
    writer = row_writer(options, (*_SHOWN, "commands") if options.as_json else _SHOWN)
    for each in found:
        row = (each.what, each.name, each.snapshot_id, each.rows)
        if options.as_json:
            writer.write([(*row, list(each.commands))])
        elif each.rows:
            writer.write([row])
    writer.close()
    if options.as_json:
        return
    show(sentence(len(found), path))
    for command in (command for each in found for command in each.commands):
        show(f"  {command}")
