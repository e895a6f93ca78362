"""The columns of one data file that merging looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from core.errors import Corrupt
from core.spark.merging.limbs import Limb
from core.spark.merging.model import RETRACTING, MergeFile, MergeRules
from core.spark.merging.opening import OpenFile

_SEQUENCE = "_SEQUENCE_NUMBER"
_KIND = "_VALUE_KIND"
_KEY_PREFIX = "_KEY_"


@dataclass(frozen=True, slots=True)
class KeyRows:
    """A file's rows, as far as merging looks at them.

    `fields` are the columns of `sequence.field`, None for one that the file was written without; `numbers`
    are the rows' sequence numbers where they were asked for; `retracts`: which rows take their key away, None
    when none does.
    """

    key: list[pa.ChunkedArray]
    fields: list[pa.ChunkedArray | None]
    numbers: Limb | None
    retracts: NDArray[np.bool_] | None


def read_rows(file: MergeFile, rules: MergeRules, open_file: OpenFile, *, with_numbers: bool) -> KeyRows:
    """Raises `Corrupt` for a file that is not as its manifest says."""
    with _opened(file, open_file) as parquet:
        there = set(parquet.schema_arrow.names)
        columns = rules.columns[file.schema_id]
        # A file written thin holds its key as the row's own columns only.
        key = [name if name in there else name.removeprefix(_KEY_PREFIX) for name in columns.key]
        fields = [name if name in there else None for name in columns.sequence]
        numbers = [_SEQUENCE] if with_numbers else []
        kinds = [_KIND] if _has_kinds(file, parquet) else []
        wanted = [*key, *(name for name in fields if name is not None), *numbers, *kinds]
        table = parquet.read(columns=list(dict.fromkeys(wanted)))
        return KeyRows(
            key=[table.column(name) for name in key],
            fields=[None if name is None else table.column(name) for name in fields],
            numbers=np.asarray(table.column(_SEQUENCE).cast(pa.int64())) if numbers else None,
            retracts=_retracting(table) if kinds else None,
        )


def read_retracts(file: MergeFile, open_file: OpenFile) -> NDArray[np.bool_] | None:
    """`KeyRows.retracts` alone. Raises as `read_rows`."""
    with _opened(file, open_file) as parquet:
        return _retracting(parquet.read(columns=[_KIND])) if _has_kinds(file, parquet) else None


@contextmanager
def _opened(file: MergeFile, open_file: OpenFile) -> Iterator[pq.ParquetFile]:
    with open_file(file.path) as source:
        try:
            # A timestamp of the old 96-bit form must not overflow.
            parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            if parquet.metadata.num_rows != file.row_count:
                raise Corrupt(
                    f"{file.path} has {parquet.metadata.num_rows} rows; its manifest says {file.row_count}"
                )
            yield parquet
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
            raise Corrupt(f"{file.path} can't be read ({error})") from error


def _has_kinds(file: MergeFile, parquet: pq.ParquetFile) -> bool:
    """Whether rows may retract: neither the manifest nor the footer says that none does."""
    if not file.may_retract:
        return False
    metadata = parquet.metadata
    index = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(_KIND)
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(index).statistics
        if statistics is None or not statistics.has_min_max or (statistics.min, statistics.max) != (0, 0):
            return True
    return False


def _retracting(table: pa.Table) -> NDArray[np.bool_] | None:
    found = np.isin(np.asarray(table.column(_KIND).cast(pa.int8())), RETRACTING)
    return found if found.any() else None
