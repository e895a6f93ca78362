"""`paimark diff`: the rows added, removed and changed between two versions of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import click

from core.cli.options import GlobalCommand, given
from core.cli.query.answering import ended_by_signals, failure, open_engine, result_path, show_events
from core.cli.query.narrator import Narrator
from core.cli.query.result import PrintedResult
from core.errors import Refused
from core.spark.arrow import read_batch
from core.spark.client.client import Engine
from core.spark.protocol import Batch, Event, Failed
from core.storage.open import open_files
from core.table.catalog import find_table
from core.travel.diff.diff import Difference, make_difference
from core.travel.diff.versions import find_version, read_wanted


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option(
    "--keys", multiple=True, metavar="A,B", help="Columns that tell rows apart; else the primary key."
)
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most N rows; all when not given.")
@click.option("-o", "out", metavar="FILE", help="Write the rows to FILE.csv, .json, .parquet or .arrow.")
@click.pass_context
def diff(
    ctx: click.Context,
    table: str,
    old: str,
    new: str,
    keys: tuple[str, ...],
    limit: int | None,
    out: str | None,
) -> None:
    """Rows added, removed and changed from version A to version B of TABLE.

    \b
    A version is one of
      12, snapshot.12, savepoint.3, v2   a snapshot, savepoint or tag of main
      main, fix                          the head of a branch
      branch.fix                         the same, where a tag is called fix too
      fix:savepoint.1, fix:12, main:v2   a version of a branch

    A table with a primary key is compared by it, each row with its old and new values; without a key, rows
    are counted: `times` says how many more or fewer of one there are. Counts go to stderr.
    """
    options = given(ctx)
    path = result_path(out)
    settings = options.settings()
    files = open_files(settings.warehouse, settings.options)
    place = find_table(files, table)
    before, after = read_wanted(files, place, old), read_wanted(files, place, new)
    # One that is not there is said before anything is made of the keys.
    schema = find_version(files, place, after).schema
    chosen = _keys(keys, [field.name for field in schema.fields])
    difference = make_difference(files, place, before, after, chosen)
    narrator = Narrator()
    narrator.say(difference.title)
    for note in difference.notes:
        narrator.say(f"  {note}")
    counts: Counter[str] = Counter()
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        narrator.wait("Starting Spark")
        if difference.keys and not difference.is_unique:
            _refuse_duplicates(engine, difference)
        found = engine.run(difference.sql, limit=limit, differing=difference.cancels)
        events = _counted(found, counts, difference)
        if show_events(events, difference.sql, PrintedResult(options, path), narrator):
            narrator.wait("Counting all of them")
            counts = _all_counts(engine, difference)
    narrator.say(", ".join(f"{counts[change]:,} {change}" for change in difference.changes))


def _keys(given_: Sequence[str], columns: Sequence[str]) -> list[str]:
    """`--keys a,b` and `--keys a --keys b` say the same, and a column may have a comma in its name."""
    names = [
        name
        for text in given_
        for name in ([text] if text in columns else [part.strip() for part in text.split(",")])
    ]
    return list(dict.fromkeys(names))


def _counted(events: Iterator[Event], counts: Counter[str], difference: Difference) -> Iterator[Event]:
    """The events as they are; what their rows say is added up on the way."""
    for event in events:
        if isinstance(event, Batch):
            counts += difference.tally(read_batch(event))
        yield event


def _all_counts(engine: Engine, difference: Difference) -> Counter[str]:
    rows = _rows(engine, difference.count_sql, differing=difference.cancels)
    return Counter({str(change): int(times) for change, times in rows})


def _refuse_duplicates(engine: Engine, difference: Difference) -> None:
    for (key,) in _rows(engine, difference.duplicate_sql):
        raise Refused(
            f"The keys given do not tell the rows apart: there are several with {key}",
            "Name more columns with --keys, or none: then rows are counted.",
        )


def _rows(engine: Engine, sql: str, *, differing: bool = False) -> list[tuple[Any, ...]]:
    """Raises what the statement failed with."""
    rows: list[tuple[Any, ...]] = []
    for event in engine.run(sql, differing=differing):
        if isinstance(event, Batch):
            rows += zip(*(column.to_pylist() for column in read_batch(event).columns), strict=True)
        elif isinstance(event, Failed):
            raise failure(event)
    return rows
