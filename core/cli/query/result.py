"""Writes a statement's rows to stdout or a file. Arrow is imported with the first of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paimark.core.actions.plan import Plan
from paimark.core.arrow_values import column_values
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import TableRows, print_rows, row_writer
from paimark.core.cli.plans import show_dry_run
from paimark.core.cli.query.answering import Narrator, RowSink
from paimark.core.export.json_rows import JsonRows
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Columns
from paimark.core.text import clean_text

if TYPE_CHECKING:
    import pyarrow as pa

    from paimark.core.export.result_file import ResultFile

# The number of rows that become Python objects at a time.
_ROWS_AT_ONCE = 4096


class PrintedResults:
    """The results of the statements of one text, one after the other.

    A blank line parts tables; the JSON of several statements is a list with the list of each.
    """

    def __init__(self, options: GlobalOptions, count: int) -> None:
        self._options = options
        self._is_list = options.as_json and count > 1
        self._printed = 0
        self._last: PrintedResult | None = None

    def next(self) -> PrintedResult:
        self._last = PrintedResult(self._options, self._before, is_listed=self._is_list)
        return self._last

    def plan(self, narrator: Narrator, plan: Plan) -> None:
        """The plan of a statement that is not run."""
        narrator.clear()
        if self._options.as_json or not plan.refusals:
            self._before()
        show_dry_run(plan, self._options)

    def close(self) -> None:
        """End the list of lists. If a statement failed among its rows, the list shows that: it has no end."""
        if self._is_list and self._printed and not (self._last and self._last.is_broken):
            click.echo("]")

    def _before(self) -> None:
        if self._is_list:
            click.echo("," if self._printed else "[")
        elif self._printed:
            click.echo()
        self._printed += 1


class PrintedResult(RowSink):
    """Rows on stdout, which can't be taken back.

    `before` is called before something is printed. One that is listed prints a list also without columns.
    """

    def __init__(self, options: GlobalOptions, before: Callable[[], None], *, is_listed: bool) -> None:
        self._options = options
        self._before = before
        self._is_listed = is_listed
        self._names: Sequence[str] = ()
        self._rows: JsonRows | TableRows | None = None
        # Whether some rows were printed, and the others never will be.
        self.is_broken = False

    def begin(self, columns: Columns) -> None:
        self._names = columns.names

    def add(self, batch: Batch) -> None:
        import pyarrow as pa

        for piece in pa.Table.from_batches([read_batch(batch)]).to_batches(max_chunksize=_ROWS_AT_ONCE):
            self._begun().write(zip(*map(column_values, piece.columns), strict=True))

    def explain(self, text: str) -> None:
        """Print an answer in words: one JSON cell, or its lines."""
        self._before()
        self._is_listed = False
        if self._options.as_json:
            print_rows(self._options, ["plan"], [[text]])
        else:
            for line in text.splitlines():
                click.echo(clean_text(line))

    def finish(self) -> None:
        """The statement is done: end the list."""
        if self._rows is not None or self._names or self._is_listed:
            self._begun().close()
            self.is_broken = False
        sys.stdout.flush()

    def _begun(self) -> JsonRows | TableRows:
        if self._rows is None:
            self._before()
            self.is_broken = True
            self._rows = row_writer(self._options, self._names, null="NULL")
        return self._rows


class FileResult(RowSink):
    """Rows in a file, which is there when all of them are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: Columns | None = None
        self._file: ResultFile | None = None

    def begin(self, columns: Columns) -> None:
        self._columns = columns

    def add(self, batch: Batch) -> None:
        import pyarrow as pa

        self._write(pa.Table.from_batches([read_batch(batch)]))

    def finish(self) -> None:
        if self._file is None and self._columns is not None:
            from paimark.core.export.result_file import empty_rows

            self._write(empty_rows(self._columns.names, self._columns.types))
        if self._file is not None:
            self._file.close()

    def abandon(self) -> None:
        """Leave no incomplete file behind."""
        if self._file is not None:
            self._file.abandon()

    def _write(self, rows: pa.Table) -> None:
        from paimark.core.export.result_file import ResultFile

        if self._file is None:
            self._file = ResultFile(self._path, rows.schema)
        self._file.write(rows)
