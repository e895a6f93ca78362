"""`paimark try`: a script on a branch, checked, and published only if all of it is right."""

from __future__ import annotations

import click

from paimark.core.cli.changes.actions import arguments_of, params_of, run_action
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.statements.try_script import TRY_SCRIPT


@click.pass_context
def _run(ctx: click.Context, /, table: str, **values: object) -> None:
    """Run a script on a branch of main, check it, and publish it only if all of that is right.

    \b
      paimark try shop.orders -f fix.sql --check checks.sql

    \b
      UPDATE {this} SET price = abs(price) WHERE price < 0;
      INSERT INTO {this} SELECT * FROM {main} VERSION AS OF 11 WHERE order_id = 42;

    The statements run in order on a new branch of main's newest snapshot, which they call {this}; {main} is
    main. Each is looked at before the first one runs. If one fails, or a check does, main is as it was and
    the branch stays. Else exactly the snapshot that was checked is published; if main moved meanwhile, it is
    merged with what main got, and checked again before anything is written.
    """
    run_action(TRY_SCRIPT, global_options(ctx), table, arguments_of(TRY_SCRIPT, values))


_PARAMS = params_of(TRY_SCRIPT)
for _each in _PARAMS:
    if "--file" in _each.opts:
        _each.opts.append("-f")

try_script = GlobalCommand("try", callback=_run, params=_PARAMS, help=_run.__doc__)
