"""`paimark history`: what happened to the rows of a key, commit by commit."""

from __future__ import annotations

from itertools import islice

import click
import msgspec

from paimark.core.cli.completing import TABLE
from paimark.core.cli.options import GlobalCommand, global_options
from paimark.core.cli.output import row_writer, show
from paimark.core.cli.query.answering import Narrator, asking
from paimark.core.figures import moment
from paimark.core.statements.questions.history import Change, History, Values, key_values, written_by

_NAMES = ("snapshot_id", "version", "time_millis", "commit_user", "change", "old", "new", "before_version")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option("--key", "key", metavar="C=V", multiple=True, required=True, help="A column and its value.")
@click.option("--branch", metavar="NAME", help="Look at this branch; main when not given.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The N newest changes; all else.")
@click.pass_context
def history(
    ctx: click.Context, table: str, key: tuple[str, ...], branch: str | None, limit: int | None
) -> None:
    """Tell what happened to the row of TABLE with this key, newest first.

    \b
      paimark history shop.orders --key order_id=42

    A table without a primary key takes any columns that identify a row. Only commits are looked at whose
    files may hold the key. What has expired is not known: then the change is told with the two versions
    between which it came.
    """
    options = global_options(ctx)
    narrator = Narrator()
    writer = row_writer(options, _NAMES) if options.as_json else None
    with asking(options, table) as (context, path):
        narrator.wait("Starting Spark")
        found = 0
        for change in islice(
            History(context, path, branch, key_values(key, "--key")).find(narrator.wait), limit
        ):
            found += 1
            narrator.clear()
            if writer is not None:
                writer.write([_row(change)])
                continue
            for line in _lines(change):
                show(line)
    narrator.clear()
    if writer is not None:
        writer.close()
    elif not found:
        show("No version that is left has such a row.")


def _lines(change: Change) -> list[str]:
    commit = change.commit
    when = f"{change.after.label}, {moment(commit.time_millis)}"
    if change.kind == "there":
        return [f"{when}: it was there already", *_cells("", change.new)]
    if change.before is not None and change.after.snapshot_id > change.before.snapshot_id + 1:
        title = f"{when}, or since {change.before.label} in snapshots that have expired: {change.kind}"
    else:
        title = f"{when}, by {written_by(commit)}: {change.kind}"
    if columns := list(change.columns):
        return [title, *(f"  {name}: {_text(old)} -> {_text(new)}" for name, old, new in columns)]
    return [title, *_cells("- ", change.old), *_cells("+ ", change.new)]


def _cells(sign: str, rows: tuple[Values, ...]) -> list[str]:
    return [f"  {sign}{', '.join(f'{name}={_text(value)}' for name, value in row.items())}" for row in rows]


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row(change: Change) -> tuple[object, ...]:
    commit, before = change.commit, change.before
    return (
        change.after.snapshot_id,
        change.after.name,
        commit.time_millis,
        commit.commit_user,
        change.kind,
        list(change.old),
        list(change.new),
        None if before is None else before.name,
    )
