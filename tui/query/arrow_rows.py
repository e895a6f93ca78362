"""A query's batches as rows: values are converted from Arrow only for painting. Does not import pyarrow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import Any, overload

from paimark.core.arrow_values import cell_value
from paimark.tui.records.sources import GridColumn

_ARROW_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


class ArrowRow(Sequence[object]):
    """One row; it converts a value when that is read."""

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: Any, index: int) -> None:
        self._batch = batch
        self._index = index

    def __len__(self) -> int:
        return int(self._batch.num_columns)

    @overload
    def __getitem__(self, column: int) -> object: ...
    @overload
    def __getitem__(self, column: slice) -> Sequence[object]: ...
    def __getitem__(self, column: int | slice) -> object:
        if isinstance(column, slice):
            return [self[each] for each in range(*column.indices(len(self)))]
        if column >= len(self):
            raise IndexError(column)
        return cell_value(self._batch.column(column)[self._index])


class ArrowRows:
    """The rows of the record batches (pyarrow's) that have arrived so far."""

    def __init__(self, batches: Sequence[Any] = ()) -> None:
        self._batches = [batch for batch in batches if batch.num_rows]
        self._ends: list[int] = []
        for batch in self._batches:
            self._ends.append((self._ends[-1] if self._ends else 0) + batch.num_rows)

    @property
    def batches(self) -> Sequence[Any]:
        return self._batches

    @property
    def zone(self) -> str | None:
        """The zone in which moments are shown; None if no column has any."""
        types = (field.type for batch in self._batches[:1] for field in batch.schema)
        return next((zone for each in types if (zone := getattr(each, "tz", None))), None)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def row(self, index: int) -> Sequence[object]:
        batch = bisect_right(self._ends, index)
        start = self._ends[batch - 1] if batch else 0
        return ArrowRow(self._batches[batch], index - start)

    def key(self, index: int) -> int:
        """The index: new rows of a result are only appended."""
        return index

    def find(self, key: Hashable) -> int | None:
        return key if isinstance(key, int) and key < len(self) else None

    def with_batch(self, batch: Any) -> ArrowRows:
        return ArrowRows([*self._batches, batch])


def result_columns(names: Sequence[str], types: Sequence[str]) -> tuple[GridColumn, ...]:
    """The columns of a result; `types` are Spark's names. Numbers are right-aligned, without separators."""
    return _columns(names, types, _NUMBERS)


def arrow_columns(names: Sequence[str], types: Sequence[str]) -> tuple[GridColumn, ...]:
    """Like `result_columns`, with Arrow's names of types."""
    return _columns(names, types, _ARROW_NUMBERS)


def _columns(names: Sequence[str], types: Sequence[str], numbers: tuple[str, ...]) -> tuple[GridColumn, ...]:
    return tuple(
        GridColumn(name, "id" if kind.startswith(numbers) else "text", most=48, nothing="null")
        for name, kind in zip(names, types, strict=True)
    )
