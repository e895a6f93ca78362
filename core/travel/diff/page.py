"""What is wanted of the rows of a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Change = Literal["added", "removed", "changed"]
CHANGES: tuple[Change, ...] = ("added", "removed", "changed")
# The columns of totals and of pages: what a row is, how often it is there, and how many different ones.
CHANGE, TIMES, LINES = "change", "times", "lines"


@dataclass(frozen=True, slots=True)
class Page:
    """`only` is a kind of change, or the place of a column: the rows in which that changed.

    In the order of the keys, or by `most`: the rows that changed most are first. `limit` None is all.
    """

    only: Change | int | None = None
    by_most: bool = False
    offset: int = 0
    limit: int | None = None

    @property
    def end(self) -> str:
        """The clauses behind ORDER BY."""
        limit = f"\nLIMIT {self.limit}" if self.limit is not None else ""
        return limit + (f"\nOFFSET {self.offset}" if self.offset else "")
