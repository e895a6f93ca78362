"""`paimark diff`: the rows added, removed and changed between two versions of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import click

from paimark.core.arrow_values import column_values
from paimark.core.cli.completing import TABLE, VERSION
from paimark.core.cli.options import AtLeast, GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import print_rows, row_writer
from paimark.core.cli.query.answering import (
    Narrator,
    RowSink,
    ended_by_signals,
    failure,
    open_engine,
    result_path,
    show_events,
)
from paimark.core.cli.query.result import FileResult
from paimark.core.errors import Refused, UsageError
from paimark.core.export.difference_rows import as_fields, in_short
from paimark.core.figures import counted
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch, Event, Failed, Finished, Reading, StageProgress
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table
from paimark.core.travel.diff.diff import Difference, make_difference
from paimark.core.travel.diff.rows import DiffRow, Page, Totals
from paimark.core.travel.diff.versions import find_version, parse_version


@click.command(cls=GlobalCommand)
@click.argument("table", metavar="TABLE", type=TABLE)
@click.argument("old", metavar="A", type=VERSION)
@click.argument("new", metavar="B", type=VERSION)
@click.option(
    "--keys", multiple=True, metavar="A,B", help="Columns that identify a row; else the primary key."
)
@click.option("--limit", type=AtLeast(min=0), metavar="N", help="At most N rows; all when not given.")
@click.option("--summary", is_flag=True, help="Print only how many rows changed, and in which columns.")
@click.option(
    "-o",
    "out",
    metavar="FILE",
    help="Write the rows with all columns to FILE.csv, .json, .parquet or .arrow.",
)
@click.pass_context
def diff(
    ctx: click.Context,
    table: str,
    old: str,
    new: str,
    keys: tuple[str, ...],
    limit: int | None,
    summary: bool,
    out: str | None,
) -> None:
    """Show which rows of TABLE were added, removed and changed from version A to version B.

    \b
    A version is one of
      12, snapshot.12, savepoint.3, v2   a snapshot, savepoint or tag of main
      main, fix                          the head of a branch
      branch.fix                         the same, if a tag is called fix too
      fix:savepoint.1, fix:12, main:v2   a version of a branch

    In a table with a primary key, a changed row is shown with its key, and with old -> new for each column
    that changed. Without a key, equal rows are counted: `times` is how many more (or fewer) of a row B has.
    The totals, and the counts per column, go to stderr and are exact, whatever the limit. Files that both
    versions have in common are not read.
    """
    options = global_options(ctx)
    path = result_path(out)
    if summary and (path is not None or limit is not None):
        raise UsageError("--summary prints no rows, so it takes neither -o nor --limit", "Leave one out.")
    settings = options.settings()
    files = open_files(settings.warehouse, settings.options)
    table_path = find_table(files, table)
    before, after = parse_version(files, table_path, old), parse_version(files, table_path, new)
    # Report a version that does not exist before reading the keys.
    schema = find_version(files, table_path, after).schema
    chosen = _keys(keys, [field.name for field in schema.fields])
    difference = make_difference(files, table_path, before, after, chosen)
    narrator = Narrator()
    narrator.say(difference.title)
    for note in difference.notes:
        narrator.say(f"  {note}")
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        narrator.wait("Starting Spark")
        if difference.keys and not difference.is_unique:
            _refuse_duplicates(engine, difference)
        totals = _totals(engine, difference, narrator)
        for line in summary_lines(difference, totals):
            narrator.say(line)
        if summary:
            print_summary(options, difference, totals)
            return
        sink: RowSink = FileResult(path) if path else PrintedDifference(options, difference)
        sql = difference.sql if path else difference.page_sql(Page())
        rows = of_compared(difference, engine.run(sql, limit=limit, differing=difference.cancels))
        # The totals have reported the files that are read.
        show_events((each for each in rows if not isinstance(each, Reading)), sql, sink, narrator)


def _keys(given_: Sequence[str], columns: Sequence[str]) -> list[str]:
    """`--keys a,b` and `--keys a --keys b` mean the same; a column may have a comma in its name."""
    names = [
        name
        for text in given_
        for name in ([text] if text in columns else [part.strip() for part in text.split(",")])
    ]
    return list(dict.fromkeys(names))


def _totals(engine: Engine, difference: Difference, narrator: Narrator) -> Totals:
    """Exact totals of all rows; the narrator says which files are read for them."""
    events = engine.run(difference.totals_sql, differing=difference.cancels)
    return difference.totals(_rows(of_compared(difference, events), narrator=narrator))


def of_compared(difference: Difference, events: Iterable[Event]) -> Iterator[Event]:
    """The events of a statement. Raises `Refused` if another snapshot has got the number of one compared."""
    for event in events:
        if isinstance(event, Reading):
            difference.require_read(event.point)
        yield event


def _refuse_duplicates(engine: Engine, difference: Difference) -> None:
    for (key,) in _rows(engine.run(difference.duplicate_sql)):
        raise Refused(
            f"The keys given do not tell the rows apart: there are several with {key}",
            "Name more columns with --keys, or none: then rows are counted.",
        )


def _rows(events: Iterator[Event], narrator: Narrator | None = None) -> list[tuple[Any, ...]]:
    """The rows of a statement. Raises its error."""
    rows: list[tuple[Any, ...]] = []
    for event in events:
        match event:
            case Batch():
                rows += zip(*map(column_values, read_batch(event).columns), strict=True)
            case Failed():
                raise failure(event)
            case Reading() if narrator is not None:
                narrator.say(f"{event.table}: {event.version}, {event.scan}")
                if event.note:
                    narrator.say(f"  {event.note}")
            case StageProgress() if narrator is not None:
                narrator.wait(f"Counting: {event.done} of {event.total} tasks {event.label}")
            case Finished() if narrator is not None:
                narrator.clear()
    return rows


KEYED = ("change", "key", "changes", "old", "new")
COUNTED = ("change", "times", "row")
SUMMARY = ("change", "column", "rows")


class PrintedDifference(RowSink):
    """Rows of a page on stdout, with columns of their own. Printed rows can't be taken back."""

    def __init__(self, options: GlobalOptions, difference: Difference) -> None:
        self._difference = difference
        self._as_json = options.as_json
        keys = [pair.name for pair in difference.keys]
        names = ["change", *keys, "changes"] if keys else ["change", "times", "row"]
        if self._as_json:
            names = list(KEYED if keys else COUNTED)
        self._rows = row_writer(options, names, null="NULL")

    def add(self, batch: Batch) -> None:
        self._rows.write(self._cells(row) for row in self._difference.rows(read_batch(batch)))

    def finish(self) -> None:
        self._rows.close()

    def _cells(self, row: DiffRow) -> list[object]:
        if self._as_json:
            return list(as_fields(row, has_key=bool(self._difference.keys)).values())
        values = [*row.key.values()] if self._difference.keys else [row.times]
        return [row.change, *values, in_short(row)]


def print_summary(options: GlobalOptions, difference: Difference, totals: Totals) -> None:
    """Print one row per kind of change, then one per changed column."""
    rows: list[tuple[object, ...]] = [
        (change, None, totals.changes.get(change, 0)) for change in difference.changes
    ]
    rows += [("changed", name, count) for name, count in columns_changed(difference, totals)]
    print_rows(options, SUMMARY, rows)


def summary_lines(difference: Difference, totals: Totals) -> Iterator[str]:
    """The summary in words."""
    yield ", ".join(f"{totals.changes.get(change, 0):,} {change}" for change in difference.changes)
    if (rows := difference.row_counts) is not None:
        yield f"  {difference.old.label} has {rows[0]:,} rows, {difference.new.label} {rows[1]:,}"
    if not difference.keys:
        yield "  The table has no key: whole rows are counted, and none is said to have changed."
    for name, count in columns_changed(difference, totals):
        yield f"  {name} changed in {counted(count, 'row')}"


def columns_changed(difference: Difference, totals: Totals) -> list[tuple[str, int]]:
    """The columns that changed and in how many rows, the most changed first."""
    counts = [(difference.pairs[index].name, count) for index, count in totals.columns.items()]
    return sorted(counts, key=lambda each: -each[1])
