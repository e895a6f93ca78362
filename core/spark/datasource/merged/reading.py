"""Read a split and merge its rows in Arrow.

Its files are read twice: first the keys, which say of which rows there are several versions, then the
selected columns. Rows that are the only one of their key pass through; the others are collected and merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pypaimon.table.row.row_kind import RowKind
from pypaimon.utils.arrow_utils import zero_column_batch

from paimark.core.errors import Corrupt
from paimark.core.figures import counted
from paimark.core.spark.datasource.merged.folding import fold
from paimark.core.spark.datasource.merged.versions import Column, Tied, Versions, find_versions

Batches = Iterator[pa.RecordBatch]
_RETRACTING = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)
# The same number as pypaimon's batches.
_BATCH_ROWS = 8192


class _Order(NamedTuple):
    """The columns of all rows, in the order of the files, by which rows are merged."""

    key: list[Column]
    sequence: list[Column]
    numbers: pa.ChunkedArray
    files: NDArray[np.intp]


def merged_rows(table: Any, reader: Any, split: Any, functions: Mapping[str, str]) -> Batches | None:
    """The rows of a split in the columns of `functions`; None if pypaimon has to merge it.

    `table` and `reader`, a `TableRead` without a condition and limit, are pypaimon's. Raises what it raises;
    in the midst `ArithmeticError` for a sum that its type does not hold.
    """
    order = _order(table, reader, split)
    if order is None:
        return None
    descending = not table.options.sequence_field_sort_order_is_ascending()
    try:
        versions = find_versions(*order, descending=descending)
    except Tied:
        return None
    return _rows(reader, split, functions, versions) if functions else _counted(versions)


def _order(table: Any, reader: Any, split: Any) -> _Order | None:
    """None if a row retracts."""
    fields = {field.name: field for field in table.fields}
    names = [name for name in table.options.sequence_field() if name]
    keys = [fields[name] for name in table.trimmed_primary_keys]
    # pypaimon needs at least one column of values.
    read = reader._create_split_read(split, read_type=[fields[name] for name in names] or keys[:1])
    rows = pa.Table.from_batches(list(_batches(read, split)))
    kinds = rows.column(len(keys) + 1)
    if pc.any(pc.is_in(kinds, pa.array(_RETRACTING, kinds.type))).as_py():
        return None
    start = len(keys) + 2
    return _Order(
        [Column(rows.column(index), str(field.type)) for index, field in enumerate(keys)],
        [Column(rows.column(start + index), str(fields[name].type)) for index, name in enumerate(names)],
        rows.column(len(keys)),
        np.repeat(np.arange(len(split.files)), [file.row_count for file in split.files]),
    )


def _batches(read: Any, split: Any) -> Batches:
    """The rows of all files one after another: key, sequence number, kind, values."""
    fields = read._get_final_read_data_fields()
    for file in split.files:
        opened, rows = read.file_reader_supplier(file, True, fields, False), 0
        try:
            while (batch := opened.read_arrow_batch()) is not None:
                rows += batch.num_rows
                # Batches of several files may differ in the names of columns.
                yield pa.RecordBatch.from_arrays(batch.columns, [f"{i}" for i in range(batch.num_columns)])
        finally:
            opened.close()
        if rows != file.row_count:
            manifest = counted(file.row_count, "row")
            raise Corrupt(f"{file.file_name} has {counted(rows, 'row')}; its manifest says {manifest}")


def _counted(versions: Versions) -> Batches:
    """Rows without columns."""
    rows = len(versions.shared) - len(versions.order) + len(versions.starts)
    for start in range(0, rows, _BATCH_ROWS):
        yield zero_column_batch(min(_BATCH_ROWS, rows - start))


def _rows(reader: Any, split: Any, functions: Mapping[str, str], versions: Versions) -> Batches:
    read = reader._create_split_read(split)
    first = len(read.trimmed_primary_key) + 2
    indexes = {field.name: first + index for index, field in enumerate(read.value_fields)}
    kinds = {field.name: str(getattr(field.type, "type", field.type)) for field in read.value_fields}
    collected: list[pa.RecordBatch] = []
    start = 0
    for batch in _batches(read, split):
        values = pa.RecordBatch.from_arrays([batch.column(indexes[name]) for name in functions], [*functions])
        shared = versions.shared[start : start + len(values)]
        start += len(values)
        if shared.any():
            collected.append(values.filter(pa.array(shared)))
            values = values.filter(pa.array(~shared))
        if len(values):
            yield values
    if collected:
        rows = pa.Table.from_batches(collected)
        merged = [
            fold(rows.column(name), kinds[name], function, versions) for name, function in functions.items()
        ]
        yield from pa.table(merged, [*functions]).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)
