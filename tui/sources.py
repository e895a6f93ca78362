"""What a grid shows: columns, and rows that are only made into text when they are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tui.formats import Kind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a grid. `style` is a component style of the grid; `most` is its widest, in cells; `nothing`
    is what a missing value looks like."""

    title: str
    kind: Kind = "text"
    style: str = ""
    most: int = 40
    nothing: str = ""

    @property
    def right(self) -> bool:
        return self.kind in ("number", "id", "bytes")


class RowSource(Protocol):
    """Rows of raw values, in the order of the columns. `row` must be cheap."""

    def __len__(self) -> int: ...

    def row(self, index: int) -> Sequence[object]: ...


class Records(Generic[T]):
    """Rows made from records on demand."""

    def __init__(self, records: Sequence[T], values: Callable[[T], Sequence[object]]) -> None:
        self.records = records
        self._values = values

    def __len__(self) -> int:
        return len(self.records)

    def row(self, index: int) -> Sequence[object]:
        return self._values(self.records[index])


def tuples(rows: Sequence[Sequence[object]]) -> Records[Sequence[object]]:
    """Rows that are their values."""
    return Records(rows, lambda row: row)
