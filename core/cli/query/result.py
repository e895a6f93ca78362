"""Writes a statement's rows to stdout or a file. Arrow is imported with the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from paimark.core.arrow_values import column_values
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import row_writer
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Columns
from paimark.core.text import clean_text

if TYPE_CHECKING:
    import pyarrow as pa

    from paimark.core.export.result_file import ResultFile

# The number of rows that become Python objects at a time.
_ROWS_AT_ONCE = 4096


class PrintedResult:
    """`begin` with the columns, `add` batches, then `finish`; `abandon` is safe at any time."""

    def __init__(self, options: GlobalOptions, path: Path | None) -> None:
        self._options = options
        self._path = path
        self._columns: Columns | None = None
        self._sink: ResultFile | _Printed | None = None

    def begin(self, columns: Columns) -> None:
        self._columns = columns

    def add(self, batch: Batch) -> None:
        import pyarrow as pa

        self._write(pa.Table.from_batches([read_batch(batch)]))

    def explain(self, text: str) -> None:
        """Print an answer in words: one JSON cell, or its lines."""
        if self._options.as_json:
            rows = row_writer(self._options, ["plan"])
            rows.write([[text]])
            rows.close()
        else:
            for line in text.splitlines():
                click.echo(clean_text(line))

    def finish(self) -> None:
        """The statement is done: publish the file, or end the list."""
        if self._sink is None and self._columns is not None and self._columns.names:
            if self._path is None:
                self._sink = _Printed(self._options, self._columns.names)
            else:
                from paimark.core.export.empty_rows import empty_rows

                self._write(empty_rows(self._columns.names, self._columns.types))
        if self._sink is not None:
            self._sink.close()

    def abandon(self) -> None:
        """Leave no incomplete file behind."""
        if self._sink is not None:
            self._sink.abandon()

    def _write(self, rows: pa.Table) -> None:
        if self._sink is None:
            if self._path is None:
                self._sink = _Printed(self._options, rows.column_names)
            else:
                from paimark.core.export.result_file import ResultFile

                self._sink = ResultFile(self._path, rows.schema)
        self._sink.write(rows)


class _Printed:
    """Rows on stdout."""

    def __init__(self, options: GlobalOptions, names: Sequence[str]) -> None:
        self._rows = row_writer(options, names, null="NULL")

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
            self._rows.write(zip(*map(column_values, batch.columns), strict=True))

    def close(self) -> None:
        self._rows.close()

    def abandon(self) -> None:
        """Nothing: printed rows can't be taken back."""
