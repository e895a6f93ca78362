"""The filter, order and range of one page of a difference's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Change = Literal["added", "removed", "changed"]
CHANGES: tuple[Change, ...] = ("added", "removed", "changed")
# The columns of totals and of pages: kind of change, number of rows, number of different rows.
CHANGE, TIMES, LINES = "change", "times", "lines"


@dataclass(frozen=True, slots=True)
class Page:
    """`only` is a kind of change, or the index of a column: only rows in which that column changed.

    Rows are in the order of the keys; with `by_most` those that changed most come first. `limit` None: all.
    """

    only: Change | int | None = None
    by_most: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def end(self) -> str:
        """The clauses after ORDER BY."""
        limit = f"\nLIMIT {self.limit}" if self.limit is not None else ""
        return limit + (f"\nOFFSET {self.offset}" if self.offset else "")
