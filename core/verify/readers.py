"""Decode a data file: count its rows, and check that they are in the order of their keys.

A file is unpacked in pieces: blocks of Avro, as many rows of Parquet as the footer's widths allow, a column
of a stripe of ORC. The size of a piece of ORC is not known before, and a footer of Parquet may lie: so this
runs in a process of its own, whose memory is bounded (`paimark.core.verify.data_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from paimark.core import figures
from paimark.core.storage.limits import TooLarge
from paimark.core.table.manifests.avro import read_avro

# The number of rows, and whether they are in the order of the keys.
RowFacts = tuple[int, bool]
# Takes the file's bytes, the key columns, and the number of bytes to unpack at once.
RowReader = Callable[[bytes, Sequence[str], int], RowFacts]

_MOST_ROWS = 1 << 14


def _parquet(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(pa.BufferReader(data))
    own = _key_columns(metadata.schema.names, keys)
    columns = map(metadata.schema.column, range(metadata.num_columns))
    # In a dictionary, a long text that many rows share is in memory once.
    texts = [each.path for each in columns if _is_text(each) and each.path not in own]
    file = pq.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=texts)
    return _counted(file.iter_batches(_rows_at_once(metadata, most)), file.schema_arrow.names, keys)


def _is_text(column: Any) -> bool:
    is_plain = column.max_repetition_level == 0 and "." not in column.path
    is_bytes = column.physical_type == "BYTE_ARRAY" and column.logical_type.type in ("STRING", "NONE")
    return is_plain and is_bytes


def _rows_at_once(metadata: Any, most: int) -> int:
    """The number of rows that have `most` bytes, by the footer. Raises `TooLarge` if rows are too wide."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    if widest > most:
        raise TooLarge(f"its rows have {figures.size(widest)}")
    return min(_MOST_ROWS, most // max(1, widest))


def _orc(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    import pyarrow as pa
    from pyarrow import orc

    file = orc.ORCFile(pa.BufferReader(data))
    names = file.schema.names
    # pyarrow takes a dot for a field of a structure.
    groups: list[list[str] | None] = [None]
    if not any("." in name for name in names):
        first = _key_columns(names, keys) or names[:1]
        groups = [first, *([name] for name in names if name not in first)]
    stripes = range(file.nstripes)
    for columns in groups[1:]:
        for number in stripes:
            file.read_stripe(number, columns)
    return _counted((file.read_stripe(number, groups[0]) for number in stripes), names, keys)


def _avro(data: bytes, keys: Sequence[str], most: int) -> RowFacts:
    rows, ordered = 0, True
    before: tuple[Any, ...] | None = None
    names: list[str] | None = None
    for record in read_avro(data, most).records:
        if names is None:
            names = _key_columns(list(record), keys)
        now = tuple(record[name] for name in names)
        ordered = ordered and (before is None or before <= now)
        rows, before = rows + 1, now
    return rows, ordered


READERS: dict[str, RowReader] = {"parquet": _parquet, "orc": _orc, "avro": _avro}


def _counted(batches: Iterable[Any], names: Sequence[str], keys: Sequence[str]) -> RowFacts:
    import pyarrow as pa

    columns = _key_columns(names, keys)
    rows, ordered = 0, True
    last: Any = None
    for batch in batches:
        rows += batch.num_rows
        if columns and ordered and batch.num_rows:
            piece = pa.Table.from_batches([batch.select(columns)])
            following = piece if last is None else pa.concat_tables([last, piece])
            ordered, last = _is_ascending(following), piece.slice(piece.num_rows - 1)
    return rows, ordered


def _key_columns(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """A key's column has the key's own name in the file, or the prefix `_KEY_` before it."""
    return [name if (name := f"_KEY_{key}") in names else key for key in keys]


def _is_ascending(table: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    equal = pa.array([True] * (table.num_rows - 1), pa.bool_())
    for column in table.itercolumns():
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        values = column.combine_chunks()
        left, right = values.slice(0, len(values) - 1), values.slice(1)
        if pc.any(pc.and_(equal, pc.greater(left, right))).as_py():
            return False
        equal = pc.and_(equal, pc.equal(left, right))
    return True
