"""`paimark merge-branch`: the action; `--conflicts` lists its conflicts row by row, and `--conflicts-out`
writes them to a file in which a person chooses.
"""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import closing, contextmanager

import click

from paimark.core.actions.context import Context, Counting, Progress, context_of
from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.merge.conflicts import LINE_COLUMNS, find_conflicts
from paimark.core.actions.registry import ACTIONS
from paimark.core.cli.changes.actions import arguments_of, help_of, params_of, run_action
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import row_writer
from paimark.core.cli.query.answering import Narrator, ended_by_signals, open_engine
from paimark.core.errors import UsageError
from paimark.core.export.json_rows import json_text
from paimark.core.figures import counted
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import TablePath
from paimark.core.text import clean_text
from paimark.core.working_directory import absolute

_ACTION = ACTIONS["merge-branch"]
_CONFLICTS = click.Option(
    ["--conflicts"],
    is_flag=True,
    help="Only list the keys that main and the branch changed to different rows, "
    "with their values in base, main and branch. Nothing is written.",
)
_CONFLICTS_OUT = click.Option(
    ["--conflicts-out"],
    metavar="FILE",
    help="Only write all of them to a new file, to choose in for --resolve. With --resolve, what that file "
    "chooses is kept where the rows are the same.",
)


@click.pass_context
def _run(
    ctx: click.Context, /, table: str, conflicts: bool, conflicts_out: str | None, **values: object
) -> None:
    options, arguments = global_options(ctx), arguments_of(_ACTION, values)
    looking = "--conflicts" if conflicts else "--conflicts-out"
    if not conflicts and conflicts_out is None:
        run_action(_ACTION, options, table, arguments)
        return
    others = {
        "--plan-out": options.plan_out is not None,
        "--dry-run": options.dry_run and not conflicts,
        "--on-conflict": arguments["on_conflict"] != "fail",
        "--conflicts-out": conflicts and conflicts_out is not None,
        "--drop-columns": arguments["drop_columns"] is True,
        "--resolve": conflicts and arguments["resolve"] is not None,
    }
    if other := next((name for name, is_given in others.items() if is_given), None):
        raise UsageError(f"{looking} only tells of conflicts: leave {other} out")
    if conflicts_out is None:
        _list_conflicts(options, table, str(arguments["name"]))
    else:
        chosen = arguments["resolve"]
        _write_conflicts(
            options, table, str(arguments["name"]), conflicts_out, None if chosen is None else str(chosen)
        )


merge_branch = GlobalCommand(
    _ACTION.name,
    callback=_run,
    params=[*params_of(_ACTION), _CONFLICTS, _CONFLICTS_OUT],
    help=help_of(_ACTION.name),
    makes_plans=True,
)


@contextmanager
def _conflict_context(
    options: GlobalOptions, table_name: str, narrator: Narrator
) -> Generator[tuple[Context, TablePath]]:
    settings = options.settings()
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = context_of(settings, lambda: engine)
        path = find_table(context.files, table_name)
        narrator.wait("Starting Spark")
        yield context, path


def _list_conflicts(options: GlobalOptions, table_name: str, branch: str) -> None:
    narrator = Narrator()
    with _conflict_context(options, table_name, narrator) as (context, path):
        conflicts = find_conflicts(context, path, branch, _waiting(narrator))
    narrator.say(conflicts.title)
    if options.as_json:
        click.echo(json_text(list(conflicts.first), indent=2))
    else:
        rows = row_writer(options, [*conflicts.keys, *LINE_COLUMNS])
        rows.write(conflicts.lines)
        rows.close()
    narrator.say(conflicts.summary)


def _write_conflicts(
    options: GlobalOptions, table_name: str, branch: str, out: str, chosen_in: str | None
) -> None:
    narrator = Narrator()
    with _conflict_context(options, table_name, narrator) as (context, path):
        count, decided = write_conflicts(
            context, path, branch, absolute(out), _waiting(narrator), chosen_in=chosen_in
        )
    narrator.clear()
    if options.as_json:
        click.echo(json_text([{"file": out, "conflicts": count, "decided": decided}]))
    else:
        previous = f", {decided:,} decided as before" if chosen_in is not None else ""
        click.echo(clean_text(f"{counted(count, 'key')} in conflict written to {out}{previous}"))
    if count > decided:
        then = shlex.join(["paimark", "merge-branch", path.full_name, "--name", branch, "--resolve", out])
        open_keys = "of the others" if decided else "of each"
        narrator.say(f'Set "choose" {open_keys} to "main", "branch" or "base", then: {then}')


def _waiting(narrator: Narrator) -> Progress:
    def tell(line: str) -> None:
        if isinstance(line, Counting):
            narrator.wait(line)

    return tell
