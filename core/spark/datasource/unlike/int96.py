"""Read 96-bit times in Parquet files as their writers wrote them; pyarrow converts them to 64 bits.

Each consists of a number of nanoseconds and a day. pyarrow reads them in nanoseconds, which overflow, or in
microseconds, where it takes the negative number that stock Paimon writes before 1970 for a huge one. So they
are read as bytes, with a changed footer that declares them as bytes: the pages of both types are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paimark.core.spark.datasource.unlike.int96_footer import WIDTH, footer_of_bytes

_WRITTEN = np.dtype([("nanos", "<i8"), ("day", "<i4")])
# The day 1970-01-01.
_EPOCH_DAY = 2_440_588
_DAY_US = 86_400_000_000
# More days than fit into 64 bits as nanoseconds; and the most microseconds that do.
_MOST_DAYS, _MOST_US = 107_000, (1 << 63) // 1_000


def names_of_int96(metadata: pq.FileMetaData) -> set[str]:
    """The names of the top-level columns with such times."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    paths = [column.path for column in columns if column.physical_type == "INT96"]
    names = metadata.schema.to_arrow_schema().names if paths else []
    return {name for name in names if any(f"{path}.".startswith(f"{name}.") for path in paths)}


def far_columns(source: Any, metadata: pq.FileMetaData, columns: Collection[str]) -> set[str]:
    """The `columns` with a time that doesn't fit into 64 bits as nanoseconds: before 1677 or after 2262.

    `source` is the file, open for reading. Raises pyarrow's errors.
    """
    far: set[str] = set()
    parquet = pq.ParquetFile(source, metadata=footer_of_bytes(metadata, columns))
    for batch in parquet.iter_batches():
        for name in set(columns) - far:
            if any(map(_has_far, _leaves(batch.column(name)))):
                far.add(name)
    return far


def _leaves(values: Any) -> Iterator[Any]:
    """The arrays of such times in an array, at any depth, without nulls."""
    kind = values.type
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == WIDTH:
        yield values.drop_null()
    elif pa.types.is_struct(kind):
        for each in values.flatten():
            yield from _leaves(each)
    elif pa.types.is_map(kind):
        yield from _leaves(values.keys)
        yield from _leaves(values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(values.flatten())


def _has_far(values: pa.FixedSizeBinaryArray) -> bool:
    if not len(values):
        return False
    stored = np.frombuffer(values.buffers()[1], _WRITTEN, len(values), values.offset * WIDTH)
    days = stored["day"].astype(np.int64) - _EPOCH_DAY
    micros = np.clip(days, -_MOST_DAYS, _MOST_DAYS) * _DAY_US + stored["nanos"] // 1_000
    return bool((np.abs(days) >= _MOST_DAYS).any() or (np.abs(micros) > _MOST_US).any())
