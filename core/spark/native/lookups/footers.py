"""Read ranges of values from Parquet footers, for files without statistics in manifests (pypaimon's).

Data files never change, so ranges are cached by the file's address and size, in bounded memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimark.core.errors import PaimarkError
from paimark.core.spark.merging.opening import OpenFile
from paimark.core.spark.merging.reading import exact_bounds
from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.pruning import Range, may_satisfy
from paimark.core.spark.native.state import TableFile, TableState

# The most ranges of columns in row groups in the cache; one takes some hundred bytes.
_MOST_RANGES = 100_000
# At most so many footers are read for one statement; the next statement reads more.
_MOST_READ = 64
_EPOCH = date(1970, 1, 1)

# For each row group the ranges by column.
RowGroups = Sequence[dict[str, Range]]


class Footers:
    """The footers of one warehouse's files. Not thread-safe."""

    def __init__(self, open_file: OpenFile) -> None:
        self._open = open_file
        self._known: OrderedDict[tuple[str, int], RowGroups] = OrderedDict()
        self._ranges = 0

    def narrowed(
        self, state: TableState, files: Iterable[TableFile], conditions: Sequence[Condition]
    ) -> list[TableFile]:
        """The files that may have a row that satisfies all conditions."""
        unread = _MOST_READ
        possible = []
        for file in files:
            key = file.address, file.size
            if key not in self._known and unread and _is_worth_reading(file):
                unread -= 1
                self._keep(key, _read(file, self._open))
            groups = self._known.get(key)
            if groups is None or _may_hold(state, file, groups, conditions):
                possible.append(file)
        return possible

    def _keep(self, key: tuple[str, int], groups: RowGroups | None) -> None:
        if groups is None:
            return
        self._known[key] = groups
        self._ranges += _count(groups)
        while self._ranges > _MOST_RANGES and len(self._known) > 1:
            self._ranges -= _count(self._known.popitem(last=False)[1])


def _count(groups: RowGroups) -> int:
    return 1 + sum(map(len, groups))


def _is_worth_reading(file: TableFile) -> bool:
    """Whether to read a file's footer. Not in a remote store: there each takes a request or two, in turn."""
    is_here = file.address.startswith(("/", "file:"))
    return is_here and file.file_format == "parquet" and file.entry.file.get("_VALUE_STATS_COLS") == []


def _may_hold(state: TableState, file: TableFile, groups: RowGroups, conditions: Sequence[Condition]) -> bool:
    origins = dict(zip(state.names, state.columns[file.schema_id, file.file_format].origins, strict=True))
    stated = [(each, origins[each.column]) for each in conditions if origins[each.column] is not None]
    return any(
        all(may_satisfy(each, group[name]) for each, name in stated if name is not None and name in group)
        for group in groups
    )


def _read(file: TableFile, open_file: OpenFile) -> RowGroups | None:
    """Read a file's ranges; None if it can't be read: the scan reports the error."""
    try:
        with open_file(file.address) as source:
            metadata = pq.ParquetFile(source).metadata
    except (PaimarkError, pa.ArrowException, OSError):
        return None
    if metadata.num_rows != file.row_count:
        return None
    return [_ranges(metadata.row_group(group)) for group in range(metadata.num_row_groups)]


def _ranges(group: Any) -> dict[str, Range]:
    ranges = {}
    for index in range(group.num_columns):
        column = group.column(index)
        statistics = column.statistics
        if statistics is None or not statistics.has_null_count:
            continue
        low, high = map(_value, exact_bounds(statistics) or (None, None))
        # Leave out nested columns: the path is not a column's name, or the counts are not of rows.
        if (
            "." not in column.path_in_schema
            and statistics.null_count + statistics.num_values == group.num_rows
        ):
            ranges[column.path_in_schema] = Range(low, high, statistics.null_count, group.num_rows)
    return ranges


def _value(value: Any) -> Any:
    """The value in the form of conditions; None (unknown) for types that Spark may compare differently."""
    if type(value) is date:
        return (value - _EPOCH).days
    return value if type(value) in (int, str, bool) else None
