"""The columns and rows of one table that a statement needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from paimark.core.spark.native.conditions import Condition


class SummaryColumns(msgspec.Struct, frozen=True):
    """The columns that an aggregate uses, if a summary of the table may answer it.

    `values`: columns in conditions, groups and the like. `bounds`: columns of which the aggregate takes the
    minimum or maximum. Row counts are always part of a summary.
    """

    values: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()

    def and_(self, other: SummaryColumns) -> SummaryColumns:
        return SummaryColumns(self.values | other.values, self.bounds | other.bounds)


@dataclass(slots=True)
class ViewNeeds:
    """What a statement needs of one view: columns by name, and at most `limit` rows per reader (None: all).

    Rows that do not satisfy all `conditions` are not needed. `summary_columns`: only aggregates that a
    summary may answer use the view, and these are their columns.
    """

    columns: set[str] = field(default_factory=set)
    limit: int | None = None
    conditions: tuple[Condition, ...] = ()
    summary_columns: SummaryColumns | None = None
