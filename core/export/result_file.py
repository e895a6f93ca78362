"""Result files: csv, json, parquet, arrow. Imported at the first rows, because it loads pyarrow."""

from __future__ import annotations

import io
import os
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from paimark.core.arrow_values import column_values
from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Refused, Unavailable
from paimark.core.export.json_rows import JsonRows, as_text
from paimark.core.text import distinct

_ROWS_AT_ONCE = 4096


class ResultFile:
    """Write rows to a file in the format of its suffix, by way of a temporary file that `close` renames.

    Unless `replacing`, `close` refuses to replace a file that exists by then.
    """

    def __init__(self, path: Path, schema: pa.Schema, *, replacing: bool = True) -> None:
        self._path = path
        self._replacing = replacing
        # Not longer than the longest name: the file's own may be that long.
        self._temporary = path.with_name(f".paimark-{uuid.uuid4().hex}")
        try:
            self._out = self._temporary.open("xb")
        except OSError as error:
            raise Unavailable(f"{path} can't be written: {error.strerror}") from error
        with suppress(OSError):
            # A file that nobody else may read stays so.
            self._temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        try:
            self._writer = _WRITERS[path.suffix.lower()](self._out, schema)
        except pa.ArrowException as error:
            self.abandon()
            raise self._unfit(error) from error

    def write(self, rows: pa.Table) -> None:
        """Raises `Cancelled`, `Refused` if the format can't hold a value, `Unavailable` if a write fails."""
        try:
            self._writer.write(rows)
        except pa.ArrowException as error:
            raise self._unfit(error) from error
        except OSError as error:
            raise Unavailable(f"{self._path} can't be written: {error.strerror or error}") from error

    def close(self) -> None:
        """Raises `Refused` if a file exists that must stay, `Unavailable` if the file can't be written."""
        try:
            self._writer.close()
            self._out.close()
            if self._replacing:
                os.replace(self._temporary, self._path)
            else:
                self._put_if_absent()
        except FileExistsError as error:
            raise Refused(f"{self._path} exists and is not written over", "Choose another name.") from error
        except OSError as error:
            raise Unavailable(f"{self._path} can't be written: {error.strerror or error}") from error

    def _put_if_absent(self) -> None:
        """Raises `FileExistsError`. The complete file comes under its name at once, or not at all."""
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links. Only one of several processes can create the file, and only that
            # one renames over it.
            self._path.open("xb").close()
            try:
                os.replace(self._temporary, self._path)
            except OSError:
                self._path.unlink(missing_ok=True)
                raise
        with suppress(OSError):
            self._temporary.unlink()

    def abandon(self) -> None:
        """Delete the temporary file. Does nothing after `close`."""
        # Closing flushes the buffer again, which raises on a full disk.
        with suppress(OSError):
            self._out.close()
        with suppress(FileNotFoundError):
            self._temporary.unlink()

    def _unfit(self, error: Exception) -> Refused:
        reason = str(error).splitlines()[0]
        return Refused(
            f"{self._path.name} can't hold these columns: {reason}", "Try another format: .json holds all."
        )


class _Whole:
    """Parquet and Arrow, which hold any cell unchanged. `make` creates pyarrow's writer."""

    def __init__(self, make: Callable[..., Any], out: IO[bytes], schema: pa.Schema) -> None:
        self._names = distinct(schema.names)
        self._writer = make(out, _renamed(schema, self._names))

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows.rename_columns(self._names))

    def close(self) -> None:
        self._writer.close()


class _Csv:
    """Null cells are empty, empty texts `""`; lists, structs and maps are JSON, bytes base64."""

    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        self._names = distinct(schema.names)
        self._as_text = [position for position, each in enumerate(schema) if not _fits_csv(each.type)]
        for position in self._as_text:
            schema = schema.set(position, pa.field(schema.names[position], pa.string()))
        self._writer = pa.csv.CSVWriter(out, _renamed(schema, self._names))

    def write(self, rows: pa.Table) -> None:
        for batch in _pieces(rows):
            self._write(pa.Table.from_batches([batch]))

    def _write(self, rows: pa.Table) -> None:
        for position in self._as_text:
            texts = [None if cell is None else as_text(cell) for cell in column_values(rows.column(position))]
            rows = rows.set_column(position, rows.column_names[position], pa.array(texts, pa.string()))
        self._writer.write(rows.rename_columns(self._names))

    def close(self) -> None:
        self._writer.close()


class _Json:
    def __init__(self, out: IO[bytes], schema: pa.Schema) -> None:
        self._out = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
        self._rows = JsonRows(self._out, distinct(schema.names))

    def write(self, rows: pa.Table) -> None:
        for batch in _pieces(rows):
            self._rows.write(zip(*map(column_values, batch.columns), strict=True))

    def close(self) -> None:
        self._rows.close()
        self._out.flush()
        self._out.detach()


_WRITERS: dict[str, Any] = {
    ".csv": _Csv,
    ".json": _Json,
    ".parquet": partial(_Whole, pa.parquet.ParquetWriter),
    ".arrow": partial(_Whole, pa.ipc.new_file),
}


def _pieces(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Pieces that Python turns into text in a moment. Raises `Cancelled` between two of them."""
    for piece in rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
        check_cancelled()
        yield piece


def _renamed(schema: pa.Schema, names: list[str]) -> pa.Schema:
    return pa.schema([each.with_name(name) for each, name in zip(schema, names, strict=True)])


def _fits_csv(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
