"""The output of `paimark diff`: totals, a count per column, and the rows by their keys with the changes."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import row_writer
from paimark.core.export.difference_rows import as_fields, in_short
from paimark.core.figures import counted
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Columns
from paimark.core.travel.diff.diff import Difference
from paimark.core.travel.diff.rows import DiffRow, Totals

_KEYED = ("change", "key", "changes", "old", "new")
_COUNTED = ("change", "times", "row")


class PrintedDifference:
    """Rows of a page on stdout, as a `RowSink` takes them."""

    def __init__(self, options: GlobalOptions, difference: Difference) -> None:
        self._difference = difference
        self._as_json = options.as_json
        keys = [pair.name for pair in difference.keys]
        names = ["change", *keys, "changes"] if keys else ["change", "times", "row"]
        if self._as_json:
            names = list(_KEYED if keys else _COUNTED)
        self._rows = row_writer(options, names, null="NULL")

    def begin(self, columns: Columns) -> None:
        """Nothing: the output has its own columns."""

    def add(self, batch: Batch) -> None:
        self._rows.write(self._cells(row) for row in self._difference.rows(read_batch(batch)))

    def explain(self, text: str) -> None:
        """No difference is an EXPLAIN."""

    def finish(self) -> None:
        self._rows.close()

    def abandon(self) -> None:
        """Nothing: printed rows can't be taken back."""

    def _cells(self, row: DiffRow) -> list[object]:
        if self._as_json:
            return list(as_fields(row, has_key=bool(self._difference.keys)).values())
        values = [*row.key.values()] if self._difference.keys else [row.times]
        return [row.change, *values, in_short(row)]


def print_summary(options: GlobalOptions, difference: Difference, totals: Totals) -> None:
    """Print one row per kind of change, then one per changed column."""
    rows = row_writer(options, ["change", "column", "rows"], null="")
    rows.write([change, None, totals.changes.get(change, 0)] for change in difference.changes)
    rows.write(["changed", name, count] for name, count in columns_changed(difference, totals))
    rows.close()


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
