"""`paimark check`: named SELECTs that must return no row, of one version of a table."""

from __future__ import annotations

import click

from paimark.core.actions.row_checks.checking import check_version
from paimark.core.cli.completing import TABLE, VERSION
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import print_rows, show
from paimark.core.cli.query.answering import asking
from paimark.core.figures import counted
from paimark.core.table.operations import CheckResult, checks_said

# The exit code when a check fails.
FAILS = 4
NAMES = ("name", "result", "rows", "first")
_INKS = {"fails": "red", "warns": "yellow"}


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.argument("version", metavar="[VERSION]", required=False, type=VERSION)
@click.option("--check", "file", metavar="FILE", help="The checks; else the table's own file of them.")
@click.pass_context
def check(ctx: click.Context, table: str, version: str | None, file: str | None) -> int:
    """Check the rows of TABLE: each check is a SELECT that must return no row.

    \b
      paimark check shop.orders fix --check checks.sql

    VERSION is written as in `paimark diff`: 12, savepoint.3, a tag, a branch, fix:12; the newest of main when
    left out. The table's own checks are in checks/DATABASE.TABLE.sql beside the configuration. In a file
    `{this}` is the version under check and `{main}` is main:

    \b
      -- name: no negative prices
      SELECT * FROM {this} WHERE price < 0;
      -- warn
      KEEPS KEYS order_id;

    With `-- warn` a check only warns. In place of a SELECT: UNIQUE a, KEEPS KEYS a, NO NEW KEYS a, CHANGES
    ONLY a BY b, TOTAL a WITHIN 5 PERCENT; without columns, the keys are the primary key.

    \b
    Exit codes
      0  no check fails
      4  a check fails: its first rows are shown
    """
    options, results = global_options(ctx), list[CheckResult]()
    with asking(options, table) as (context, path, narrator):
        label, running = check_version(context, path, version, file, narrator.wait)
        for each in running:
            narrator.clear()
            results.append(each)
            if not options.as_json:
                _show(each)
    if options.as_json:
        rows = [(each.name, each.verdict, each.rows, list(each.first)) for each in results]
        print_rows(options, NAMES, rows)
    narrator.say(f"{path.full_name}, {label}: {checks_said(results)}")
    return FAILS if any(each.stops for each in results) else 0


def _show(result: CheckResult) -> None:
    count = f": {counted(result.rows, 'row')}" if result.rows else ""
    show(f"{result.verdict:<7} {result.name}{count}", _INKS.get(result.verdict, ""))
    for row in result.first:
        show(f"        {row}")
    if result.rows > len(result.first):
        show(f"        and {result.rows - len(result.first):,} more")
