"""Read the first rows of a table in this process, which for a few rows takes less time than a Spark job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from paimark.core.errors import Corrupt
from paimark.core.spark.arrow import fit_batch
from paimark.core.spark.merging.model import Bits, MergeGroup
from paimark.core.spark.merging.reading import OpenFile
from paimark.core.spark.native.bitmap import first_bits, is_cached, merge_bits
from paimark.core.spark.native.state import TableFile, TableState, alive_rows
from paimark.core.spark.session_conf import SessionConf

# At most so many rows are collected at once, or read in this process.
SMALL_RESULT = 2_000

_FEWEST_ROWS = 256
# A group with fewer rows is merged completely, which takes no longer than merging its first rows.
_WORTH_HEADS = 100_000
# At most so many files are opened one after another for a few rows.
_FEW_FILES = 8
# An extra column, because a batch without columns has no row count.
_ROWS = ""


def _are_quick(files: Sequence[TableFile]) -> bool:
    """Whether reading a few rows of them in this process is faster than in Spark."""
    return len(files) <= _FEW_FILES and all(file.file_format == "parquet" for file in files)


def enough_rows(
    conf: SessionConf, options: Mapping[str, str], state: TableState, limit: int, *, by_heads: bool
) -> tuple[list[TableFile], dict[str, Bits]]:
    """Choose files with at least `limit` rows together, and their bits: first files that need no merging.

    `by_heads`: bits of big files' first rows suffice. `options` are the catalog's. Raises as `merge_bits`.
    """
    by_address = {file.address: file for file in state.files}
    merged = [[by_address[file.path] for file in group.files] for group in state.merged]
    hidden = {file.address for files in merged for file in files}
    bits: dict[str, Bits] = {}
    enough: list[TableFile] = []
    row_count = 0
    whole = [file for file in state.files if file.address not in hidden]
    for group, files in zip([None, *state.merged], [whole, *merged], strict=True):
        if row_count < limit and group is not None:
            bits |= _bits(conf, options, group, limit - row_count if by_heads else None)
        for file in files:
            if row_count < limit and (rows := alive_rows(file, bits)):
                enough.append(file)
                row_count += rows
    return enough, bits


def _bits(
    conf: SessionConf, options: Mapping[str, str], group: MergeGroup, rows: int | None
) -> dict[str, Bits]:
    """A group's bits; only those of its files' first rows, if so many `rows` of these survive."""
    if rows is not None and group.row_count > _WORTH_HEADS and not is_cached(group):
        bits = first_bits(options, group, rows)
        if bits:
            return bits
    return merge_bits(conf, options, [group])


def first_rows(
    state: TableState,
    types: StructType,
    files: Sequence[TableFile],
    bits: Mapping[str, Bits],
    columns: Collection[str],
    limit: int,
    open_file: OpenFile,
) -> pa.Table | None:
    """Read up to `limit` rows; columns that are not in `columns` are null. None if Spark has to read them.

    If the bits cover only a file's first rows, no more are read. Raises `FileMissing` and `Corrupt`.
    """
    if not _are_quick(files):
        return None
    try:
        return _first_rows(state, types, files, bits, columns, limit, open_file)
    except _OldTimes:
        return None


class _OldTimes(Exception):
    """A file has times of 96 bits, which pyarrow reads wrongly before 1970."""


def _first_rows(
    state: TableState,
    types: StructType,
    files: Iterable[TableFile],
    bits: Mapping[str, Bits],
    columns: Collection[str],
    limit: int,
    open_file: OpenFile,
) -> pa.Table:
    schema = to_arrow_schema(types)
    batches = []
    remaining = limit
    for file in files:
        with open_file(file.address) as source:
            for batch in _batches(source, file, state, bits.get(file.address), columns, limit):
                # Spark takes an empty batch for the end of the stream.
                if batch.num_rows:
                    batches.append(fit_batch(batch.slice(0, remaining), schema))
                    remaining -= batches[-1].num_rows
                if not remaining:
                    return pa.Table.from_batches(batches, schema)
    return pa.Table.from_batches(batches, schema)


def _batches(
    source: Any,
    file: TableFile,
    state: TableState,
    bits: Bits | None,
    result_columns: Collection[str],
    limit: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the file's rows in the snapshot, with the wanted columns under the table's names."""
    columns = state.columns[file.schema_id, file.file_format]
    origins = {
        name: origin
        for name, origin in zip(state.names, columns.origins, strict=True)
        if name in result_columns and origin is not None
    }
    read = [origin for origin in origins.values() if origin in columns.read.names]
    survives = None if bits is None else pa.array(bits.truths())
    row = 0
    try:
        parquet = pq.ParquetFile(source)
        schema = parquet.schema
        if any(schema.column(index).physical_type == "INT96" for index in range(len(schema))):
            raise _OldTimes
        # At least one column is read, because without one there are no batches, and so no row counts.
        some = read or parquet.schema_arrow.names[:1]
        for batch in parquet.iter_batches(max(limit, _FEWEST_ROWS), columns=some):
            count = batch.num_rows
            arrays = [
                batch.column(origin) if origin in read else _constant(file, state, origin, count)
                for origin in origins.values()
            ]
            whole = pa.RecordBatch.from_arrays([*arrays, pa.nulls(count)], names=[*origins, _ROWS])
            if survives is not None:
                chosen = survives.slice(row, count)
                whole = whole.slice(0, len(chosen)).filter(chosen)
            row += count
            yield whole
            if survives is not None and row >= len(survives):
                # No bits are known for the rest of the file, or it has no more rows.
                return
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise Corrupt(f"{file.address} can't be read ({error})") from error


def _constant(file: TableFile, state: TableState, name: str, rows: int) -> pa.Array:
    index = state.constants.names.index(name)
    field = to_arrow_schema(state.constants).field(index)
    return pa.array([_value(field.type, file.partition[index])] * rows, field.type)


def _value(kind: pa.DataType, text: str | None) -> Any:
    """The value that `Scans.java` parses from the text."""
    if text is None or pa.types.is_string(kind):
        return text
    if pa.types.is_date(kind):
        return date(1970, 1, 1) + timedelta(days=int(text))
    if pa.types.is_timestamp(kind):
        return datetime(1970, 1, 1) + timedelta(microseconds=int(text))
    if pa.types.is_decimal(kind):
        return Decimal(text)
    return text == "True" if pa.types.is_boolean(kind) else int(text)
