"""Result files: csv, json, parquet, arrow, also without rows. Imported late, because it loads pyarrow."""

from __future__ import annotations

import fcntl
import io
import os
import re
import stat
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
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
_TEMPORARY = re.compile(r"\.paimark-[0-9a-f]{32}")
_ABANDONED_SECONDS = 24 * 3600
_PLAIN = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
# Decimals with more places would get an exponent.
_PLACES = 6
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NESTED = re.compile(r"(array|map|struct)<(.*)>", re.DOTALL)


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
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_abandoned(path.parent)
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
            # A name must never lead to rows that a power cut takes: the older file would be lost for nothing.
            self._out.flush()
            os.fsync(self._out.fileno())
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


def _remove_abandoned(directory: Path) -> None:
    """Remove the temporary files of processes that were killed.

    A living process has its file locked. Where locks do not reach other machines, a day must do.
    """
    with os.scandir(directory) as entries:
        for each in entries:
            if not _TEMPORARY.fullmatch(each.name) or not each.is_file(follow_symlinks=False):
                continue
            if time.time() - each.stat(follow_symlinks=False).st_mtime < _ABANDONED_SECONDS:
                continue
            with suppress(OSError), open(each.path, "rb") as left:
                fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(each.path)


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
    """Whether Arrow writes it as SQL has it: of decimals with many places it makes `1E-7`."""
    if pa.types.is_decimal(kind):
        return bool(kind.scale <= _PLACES)
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def empty_rows(names: Sequence[str], types: Sequence[str]) -> pa.Table:
    """An empty table with these columns. A type that Arrow lacks becomes text."""
    arrays = [pa.array([], arrow_type(each)) for each in types]
    return pa.Table.from_arrays(arrays, names=list(names))


def arrow_type(spark_type: str) -> pa.DataType:
    """The Arrow type of a Spark type such as `array<struct<a:int,b:decimal(10,2)>>`."""
    text = spark_type.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _NESTED.fullmatch(text):
        parts = list(_parts(match[2]))
        if match[1] == "struct":
            fields = (part.partition(":") for part in parts)
            return pa.struct([pa.field(name.strip("`"), arrow_type(kind)) for name, _, kind in fields])
        if match[1] == "array":
            return pa.list_(arrow_type(match[2]))
        if len(parts) == 2:
            return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    return pa.string()


def _parts(text: str) -> Iterator[str]:
    """The pieces between the commas of the outermost level."""
    depth = start = 0
    for position, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and not depth:
            yield text[start:position]
            start = position + 1
    if text:
        yield text[start:]
