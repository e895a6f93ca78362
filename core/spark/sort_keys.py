"""Convert columns to 64-bit integers that compare as the values do in Paimon.

A value becomes one or several integers, the most significant first: *sort keys*. Texts and bytes stay as they
are until few enough rows are left to number them (`numbered`, `ranked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from paimark.core.table.definition.column_types import BYTES, TEXTS, ColumnType

SortKey = NDArray[np.int64]
_SIGN = np.int64(-(2**63))


def is_text(type_text: str) -> bool:
    """Whether a column of this type is text or bytes, and so has no direct sort keys."""
    return ColumnType.of(type_text).name in (*TEXTS, *BYTES)


def text_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as bytes. Paimon compares texts by unsigned bytes."""
    return column.cast(pa.large_binary())


def end_to_end(columns: Iterable[pa.ChunkedArray], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """Concatenate columns. `kind` is the type of the result, which is needed if there are no chunks."""
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], kind)


def sort_keys_of(column: pa.ChunkedArray, type_text: str) -> list[SortKey]:
    """The sort keys of a column of another type. The first one is 0 for nulls, which sort first, else 1."""
    is_there = _is_there(column)
    kind = ColumnType.of(type_text)
    if kind.name == "DECIMAL":
        return [is_there, *_decimal(column.cast(pa.decimal128(*kind.decimal)))]
    return [is_there, _whole(column, kind)]


def reversed_order(sort_keys: Sequence[SortKey]) -> list[SortKey]:
    """The sort keys of the descending order; nulls stay first, as in Paimon."""
    return [sort_keys[0], *(~sort_key for sort_key in sort_keys[1:])]


def numbered(texts: pa.ChunkedArray) -> SortKey:
    """Number the values: equal values get equal numbers, in any order."""
    codes = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(codes.indices, dtype=np.int64)


def ranked(texts: pa.ChunkedArray) -> list[SortKey]:
    """Sort keys in the order of the values."""
    codes = texts.combine_chunks().dictionary_encode()
    order = np.asarray(pc.array_sort_indices(codes.dictionary), dtype=np.int64)
    ranks = np.empty(len(order) + 1, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    ranks[len(order)] = 0
    places = np.asarray(codes.indices.fill_null(len(order)), dtype=np.int64)
    return [_is_there(texts), ranks[places]]


def packed(columns: Sequence[Sequence[SortKey]]) -> list[SortKey] | None:
    """Pack the sort keys of each part into one that keeps the order; None if that takes more than 63 bits."""
    ranges = []
    for sort_key in zip(*columns, strict=True):
        filled = [part for part in sort_key if len(part)]
        low = min((int(part.min()) for part in filled), default=0)
        high = max((int(part.max()) for part in filled), default=0)
        ranges.append((low, (high - low).bit_length()))
    varying = [index for index, (_, width) in enumerate(ranges) if width]
    if len(varying) == 1:
        return [part[varying[0]] for part in columns]
    if sum(width for _, width in ranges) > 63:
        return None
    return [_pack(part, ranges) for part in columns]


def _pack(sort_keys: Sequence[SortKey], ranges: Sequence[tuple[int, int]]) -> SortKey:
    code = np.zeros(len(sort_keys[0]), dtype=np.int64)
    for sort_key, (low, width) in zip(sort_keys, ranges, strict=True):
        if width:
            code = (code << width) | (sort_key - low)
    return code


def _whole(column: pa.ChunkedArray, kind: ColumnType) -> SortKey:
    match kind.name:
        case "FLOAT":
            return _float(column.cast(pa.float32()), np.dtype(np.int32))
        case "DOUBLE":
            return _float(column.cast(pa.float64()), np.dtype(np.int64))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        case "TIME":
            column = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        case "DATE":
            column = column.cast(pa.int32())
    return np.asarray(_without_nulls(column.cast(pa.int64()), 0), dtype=np.int64)


def _float(column: pa.ChunkedArray, bits: np.dtype[np.signedinteger]) -> SortKey:
    """In Java's order: -0 before 0; all NaN are equal, and after all numbers."""
    values = np.asarray(_without_nulls(column, 0.0))
    as_written = values.view(bits)
    lowest = np.iinfo(bits).min
    order = np.where(as_written < 0, lowest - as_written - 1, as_written)
    order[np.isnan(values)] = np.iinfo(bits).max
    return order.astype(np.int64)


def _decimal(column: pa.ChunkedArray) -> list[SortKey]:
    """The two halves of the unscaled value; the lower one is shifted so that its unsigned order is kept."""
    parts = []
    for chunk in column.chunks:
        if chunk.null_count:
            chunk = chunk.fill_null(0)
        halves = np.frombuffer(chunk.buffers()[1], dtype="<i8").reshape(-1, 2)
        parts.append(halves[chunk.offset : chunk.offset + len(chunk)])
    both = np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.int64)
    return [both[:, 1].copy(), both[:, 0] ^ _SIGN]


def _is_there(column: pa.ChunkedArray) -> SortKey:
    if column.null_count:
        return np.asarray(column.is_valid(), dtype=np.int64)
    # A view of one number for all rows, which takes no memory.
    return np.broadcast_to(np.int64(1), len(column))


def _without_nulls(column: pa.ChunkedArray, instead: float) -> pa.ChunkedArray:
    return column.fill_null(instead) if column.null_count else column
