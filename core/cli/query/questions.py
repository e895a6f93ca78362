"""`paimark when`, `history`, `blame` and `holders`: questions about rows, which change nothing."""

from __future__ import annotations

from decimal import Decimal
from itertools import islice

import click
import msgspec

from paimark.core.cli.completing import BRANCH, TABLE, VERSION_OF_MAIN
from paimark.core.cli.options import AtLeast, GlobalCommand, global_options
from paimark.core.cli.output import local_time, print_rows, row_writer, show
from paimark.core.cli.query.answering import asking
from paimark.core.figures import counted, moment
from paimark.core.statements.questions.blame import Blame, unknown_said
from paimark.core.statements.questions.history import Change, History, Values, key_values, written_by
from paimark.core.statements.questions.holders import Holders, sentence
from paimark.core.statements.questions.when import When, sentences
from paimark.core.text import plain_text
from paimark.core.travel.when import Count

# What is printed as JSON, and what for people.
EACH = ("snapshot_id", "version", "time_millis", "rows")
_EACH_SHOWN = ("snapshot_id", "version", "time", "rows")
FOUND = (*EACH, "before_snapshot_id", "before_version", "expired_between")
_HOLDERS_SHOWN = ("what", "name", "snapshot_id", "rows")
HOLDERS = (*_HOLDERS_SHOWN, "commands")
COMMITS = ("key", "snapshot_id", "version", "time_millis", "commit_user")
_COMMITS_SHOWN = ("key", "version", "time", "writer")
CHANGES = ("snapshot_id", "version", "time_millis", "commit_user", "change", "old", "new", "before_version")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.argument("condition", metavar="CONDITION")
@click.option("--branch", metavar="NAME", type=BRANCH, help="Search this branch; main when not given.")
@click.option("--from", "old", metavar="V", type=VERSION_OF_MAIN, help="The oldest version to look at.")
@click.option("--to", "new", metavar="V", type=VERSION_OF_MAIN, help="The newest version to look at.")
@click.option("--all", "every", is_flag=True, help="Count each version, instead of a binary search.")
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

    The versions are the snapshots, and those that only a tag or savepoint keeps. It is a binary search:
    of 10,000 versions it counts 15. It finds one version with such rows behind one without. If they came,
    went and came again, there are more: --all looks at each version. A column is called as it is now; in a
    version without it, it is null.
    """
    options = global_options(ctx)
    with asking(options, table) as (context, path, narrator):
        search = When(context, path, branch, condition, old, new)
        if every:
            writer = row_writer(options, EACH if options.as_json else _EACH_SHOWN)
            for each in search.every(narrator.wait):
                narrator.clear()
                number, name, time, rows = _count_row(each)
                writer.write([(number, name, time if options.as_json else local_time(time), rows)])
            writer.close()
            return
        found = search.find(narrator.wait, lambda each: narrator.say(_told(each)))
    if options.as_json:
        before = (None, None) if found.before is None else _count_row(found.before)[:2]
        print_rows(options, FOUND, [(*_count_row(found.first), *before, found.gone)])
        return
    for line in sentences(found, condition, path, context.clock()):
        show(line)


def _count_row(count: Count) -> tuple[int, str, int, int]:
    return count.version.snapshot_id, count.version.name, count.time_millis, count.rows


def _told(count: Count) -> str:
    return f"  {count.version.label}, {moment(count.time_millis)}: {counted(count.rows, 'row')}"


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
    with asking(options, table) as (context, path, narrator):
        search = Holders(context, path, where, key_values(key, "--key"))
        found = list(search.find(narrator.wait))
    rows = [(each.what, each.name, each.snapshot_id, each.rows, list(each.commands)) for each in found]
    if options.as_json:
        print_rows(options, HOLDERS, rows)
        return
    print_rows(
        options, _HOLDERS_SHOWN, [row[:-1] for row, each in zip(rows, found, strict=True) if each.rows]
    )
    show(sentence(found, path))
    for command in (command for each in found for command in each.commands):
        show(f"  {command}")


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option("--where", metavar="CONDITION", help="Which of the current rows, as after WHERE.")
@click.option("--partition", metavar="TEXT", help="Or those of partitions: day=2026-05-01.")
@click.option("--keys", metavar="TEXT", help="Or of keys: 42,43; JSON; @FILE with one a line.")
@click.option("--branch", metavar="NAME", type=BRANCH, help="Look at this branch; main when not given.")
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
    columns = COMMITS if options.as_json else _COMMITS_SHOWN
    told = list[tuple[object, ...]]()
    unknown = 0
    with asking(options, table) as (context, path, narrator):
        search = Blame(context, path, branch, {"where": where, "partition": partition, "keys": keys})
        for key, version, commit in search.find(narrator.wait):
            named = key if options.as_json else ", ".join(f"{name}={key[name]}" for name in key)
            if version is None or commit is None:
                unknown += 1
                told.append((named, *(None,) * (len(columns) - 1)))
            elif options.as_json:
                told.append((named, commit.id, version.name, commit.time_millis, commit.commit_user))
            else:
                told.append((named, version.name, moment(commit.time_millis), written_by(commit)))
    if not told and not options.as_json:
        show("No such row is there now.")
        return
    print_rows(options, columns, told)
    if unknown:
        narrator.say(unknown_said(unknown))


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.option("--key", "key", metavar="C=V", multiple=True, required=True, help="A column and its value.")
@click.option("--branch", metavar="NAME", type=BRANCH, help="Look at this branch; main when not given.")
@click.option("--limit", type=AtLeast(min=1), metavar="N", help="The N newest changes; all when not given.")
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
    writer = row_writer(options, CHANGES) if options.as_json else None
    with asking(options, table) as (context, path, narrator):
        found = 0
        for change in islice(
            History(context, path, branch, key_values(key, "--key")).find(narrator.wait), limit
        ):
            found += 1
            narrator.clear()
            if writer is not None:
                writer.write([_change_row(change)])
                continue
            for line in _lines(change):
                show(line)
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
    return plain_text(value) if isinstance(value, str | Decimal) else msgspec.json.encode(value).decode()


def _change_row(change: Change) -> tuple[object, ...]:
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
