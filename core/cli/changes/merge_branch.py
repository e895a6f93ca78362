"""`paimark merge-branch`: the action, and with `--conflicts` what stands in its way, row by row."""

from __future__ import annotations

from contextlib import closing

import click

from core.actions.context import Counting, open_context
from core.actions.merge.conflicts import LINE_COLUMNS, find_conflicts
from core.actions.registry import ACTIONS
from core.cli.changes.actions import arguments_of, params_of, run_action
from core.cli.options import Given, GlobalCommand, given
from core.cli.output import row_writer
from core.cli.query.answering import ended_by_signals, open_engine
from core.cli.query.narrator import Narrator
from core.errors import UsageError
from core.export.json_rows import json_text
from core.table.catalog import find_table

_ACTION = ACTIONS["merge-branch"]
_CONFLICTS = click.Option(
    ["--conflicts"],
    is_flag=True,
    help="Only list the keys that main and the branch changed to different rows, "
    "with their values in base, main and branch. Nothing is written.",
)


@click.pass_context
def _run(ctx: click.Context, /, table: str, conflicts: bool, **values: object) -> None:
    options, arguments = given(ctx), arguments_of(_ACTION, values)
    if not conflicts:
        run_action(_ACTION, options, table, arguments)
        return
    if options.plan_out is not None or arguments["on_conflict"] != "fail":
        option = "--plan-out" if options.plan_out is not None else "--on-conflict"
        raise UsageError(f"--conflicts only lists them: leave {option} out")
    _list_conflicts(options, table, str(arguments["name"]))


merge_branch = GlobalCommand(
    _ACTION.name,
    callback=_run,
    params=[*params_of(_ACTION), _CONFLICTS],
    help=_ACTION.summary,
    makes_plans=True,
)


def _list_conflicts(options: Given, table_name: str, branch: str) -> None:
    settings = options.settings()
    narrator = Narrator()

    def tell(line: str) -> None:
        if isinstance(line, Counting):
            narrator.wait(line)

    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = open_context(settings.warehouse, settings.options, settings.read_only, lambda: engine)
        path = find_table(context.files, table_name)
        narrator.wait("Starting Spark")
        conflicts = find_conflicts(context, path, branch, tell)
    narrator.say(conflicts.title)
    if options.as_json:
        click.echo(json_text(list(conflicts.first), indent=2))
    else:
        rows = row_writer(options, [*conflicts.keys, *LINE_COLUMNS])
        rows.write(conflicts.lines)
        rows.close()
    narrator.say(conflicts.summary)
