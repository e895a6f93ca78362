"""The columns and rows of one table that a statement needs: no more is read."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from core.spark.native.conditions import Condition


class Asked(msgspec.Struct, frozen=True):
    """The columns of a table that an aggregate asks of, when a summary of the table answers it.

    `values`: conditions, groups and the like are made of them. `bounds`: their least or greatest value is
    asked for. Numbers of rows are asked for in any case.
    """

    values: frozenset[str] = frozenset()
    bounds: frozenset[str] = frozenset()

    def and_(self, other: Asked) -> Asked:
        return Asked(self.values | other.values, self.bounds | other.bounds)


@dataclass(slots=True)
class ViewNeeds:
    """The needs of a statement of one view: columns by name, and rows of each reader at most (None: all).

    Rows that do not satisfy all the `conditions` are not needed. `again`: the view is more than once in the
    plan, as a common table expression that is used twice is. `asked`: nothing but aggregates that ask so much
    of it are over it.
    """

    columns: set[str] = field(default_factory=set)
    limit: int | None = None
    conditions: tuple[Condition, ...] = ()
    again: bool = False
    asked: Asked | None = None
