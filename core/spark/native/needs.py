"""The columns and rows of one table that a statement needs: no more is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.spark.native.conditions import Condition


@dataclass(slots=True)
class ViewNeeds:
    """The needs of a statement of one view: columns by name, and rows of each reader at most (None: all).

    Rows that do not satisfy all the `conditions` are not needed. `again`: the view is more than once in the
    plan, as a common table expression that is used twice is.
    """

    columns: set[str] = field(default_factory=set)
    limit: int | None = None
    conditions: tuple[Condition, ...] = ()
    again: bool = False
