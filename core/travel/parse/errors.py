"""Refusals with a position in a statement."""

from __future__ import annotations

from paimark.core.cells import cut_middle
from paimark.core.errors import StatementFailed

# A reason may quote any part of a statement.
_LONGEST = 300


class SqlRefused(StatementFailed):
    """A statement or clause that is invalid or not supported. `position` is its character offset."""

    position: int

    def __init__(self, reason: str, hint: str, sql: str, position: int) -> None:
        line, column = line_and_column(sql, position)
        super().__init__(f"{cut_middle(reason, _LONGEST)} (line {line}, column {column})", hint, position)


def line_and_column(sql: str, position: int) -> tuple[int, int]:
    """Both counted from 1."""
    before = sql[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
