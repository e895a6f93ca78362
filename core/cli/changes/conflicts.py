"""`--conflicts` and `--conflicts-out` of actions that can have rows in conflict.

One lists them row by row, and the other writes them to a file in which a person chooses.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click

from paimark.core.actions.context import Counting, Progress
from paimark.core.actions.declared.declaration import NOTE
from paimark.core.actions.merge.conflict_file import write_conflicts
from paimark.core.actions.merge.conflicts import find_conflicts, line_columns, summary
from paimark.core.actions.registry import Action, conflicting
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import print_rows
from paimark.core.cli.query.answering import Narrator, asking
from paimark.core.errors import UsageError
from paimark.core.export.json_rows import json_text
from paimark.core.figures import counted
from paimark.core.text import clean_text
from paimark.core.working_directory import absolute

CONFLICT_OPTIONS = (
    click.Option(
        ["--conflicts"],
        is_flag=True,
        help="Only list the keys that both sides changed to different rows, with their values on each side. "
        "Nothing is written.",
    ),
    click.Option(
        ["--conflicts-out"],
        metavar="FILE",
        help="Only write all of them to a new file, to choose in for --resolve. With --resolve, what that "
        "file chooses is kept where the rows are the same.",
    ),
)


def only_looks(
    action: Action,
    options: GlobalOptions,
    table: str,
    arguments: Mapping[str, object],
    values: Mapping[str, object],
) -> bool:
    """Tell of the conflicts, if `values` have one of the options; return whether that is so."""
    conflicts, out = bool(values.get("conflicts")), values.get("conflicts_out")
    if not conflicts and out is None:
        return False
    looking = "--conflicts" if conflicts else "--conflicts-out"
    others = {
        "--plan-out": options.plan_out is not None,
        "--dry-run": options.dry_run and not conflicts,
        "--on-conflict": arguments["on_conflict"] != "fail",
        "--conflicts-out": conflicts and out is not None,
        "--drop-columns": arguments.get("drop_columns") is True,
        "--resolve": conflicts and arguments["resolve"] is not None,
        **{each.option: arguments[each.name] is not None for each in NOTE},
    }
    if other := next((name for name, is_given in others.items() if is_given), None):
        raise UsageError(f"{looking} only tells of conflicts: leave {other} out")
    if out is None:
        _list(action, options, table, arguments)
    else:
        _write(action, options, table, arguments, str(out))
    return True


def _list(action: Action, options: GlobalOptions, table: str, arguments: Mapping[str, object]) -> None:
    with asking(options, table) as (context, path, narrator):
        between = conflicting(action.name, context, path, arguments)
        found, count = find_conflicts(context, between, _waiting(narrator))
    narrator.say(between.title)
    header = between.header
    if options.as_json:
        click.echo(json_text([each.as_json(header.sides) for each in found], indent=2))
    else:
        columns = [*header.keys, *line_columns(header.sides)]
        print_rows(options, columns, [line for each in found for line in each.lines])
    narrator.say(summary(between, len(found), count))


def _write(
    action: Action, options: GlobalOptions, table: str, arguments: Mapping[str, object], out: str
) -> None:
    chosen = arguments["resolve"]
    chosen_in = None if chosen is None else str(chosen)
    with asking(options, table) as (context, path, narrator):
        between = conflicting(action.name, context, path, arguments)
        count, decided = write_conflicts(
            context, between, absolute(out), _waiting(narrator), chosen_in=chosen_in
        )
    if options.as_json:
        click.echo(json_text([{"file": out, "conflicts": count, "decided": decided}]))
    else:
        previous = f", {decided:,} decided as before" if chosen_in is not None else ""
        click.echo(clean_text(f"{counted(count, 'key')} in conflict written to {out}{previous}"))
    if count > decided:
        given = {**arguments, "resolve": out, "on_conflict": None}
        pairs = [
            (each.option, str(value))
            for each in action.arguments
            if (value := given.get(each.name)) not in (None, False)
        ]
        words = [word for pair in pairs for word in pair]
        then = shlex.join(["paimark", action.name, between.header.table, *words])
        open_keys = "of the others" if decided else "of each"
        *others, last = (f'"{word}"' for word in between.header.words)
        narrator.say(f'Set "choose" {open_keys} to {", ".join(others)} or {last}, then: {then}')


def _waiting(narrator: Narrator) -> Progress:
    def tell(line: str) -> None:
        if isinstance(line, Counting):
            narrator.wait(line)

    return tell
