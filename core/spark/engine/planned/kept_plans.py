"""Plans of queries, for when one is asked again of the same tables at the same snapshots in the same session.

What decides a plan is its text, the database of plain names, how many rows are shown, the tables and the
session: settings, time zone, temporary views, variables. The first are the `PlanKey`; whatever may change the
session empties `KeptPlans`. Only plans that give the same rows at any time are kept, and never rows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from itertools import pairwise, starmap
from typing import NamedTuple

from core.spark.engine.tables import OpenedTable
from core.spark.protocol import Columns
from core.travel.parse.tokens import Token
from core.travel.parse.uses import Statement, TableUse

_MOST_PLANS = 64
_MOST_BYTES = 64 << 20


class PlanKey(NamedTuple):
    """`tables` are the uses of tables in the text, with what says which files of which table are read how."""

    sql: str
    database: str | None
    limit: int | None
    tables: tuple[tuple[TableUse, tuple[str, ...]], ...]


def plan_key(
    statement: Statement, database: str | None, limit: int | None, tables: Collection[OpenedTable]
) -> PlanKey | None:
    """None where a table is read in a way that a plan of it can't be used again, and for `DATE'today'`."""
    read = tuple((table.use, table.native.key) for table in tables if table.native is not None)
    if len(read) < len(tables) or any(starmap(_is_of_the_clock, pairwise(statement.tokens))):
        return None
    return PlanKey(statement.sql, database, limit, read)


def _is_of_the_clock(first: Token, second: Token) -> bool:
    """Whether it is a time in words, which is a time like any other once Spark has read the text."""
    is_time = first.upper == "DATE" or first.upper.startswith("TIMESTAMP")
    return is_time and second.kind == "string" and second.value.strip()[:1].isalpha()


class KeptPlan(NamedTuple):
    """A plan by its `number` in `Queries`. `schema` begins a stream of its rows, `most` is its own LIMIT.

    `unread` are places of the tables that metadata answer, `bytes` about those that Java holds for it.
    """

    number: int
    columns: Columns
    schema: bytes
    most: int | None
    unread: tuple[int, ...]
    is_small: bool
    bytes: int


class KeptPlans:
    """The last ones, as many as there is room for."""

    def __init__(self) -> None:
        self._plans: OrderedDict[PlanKey, KeptPlan] = OrderedDict()

    @property
    def numbers(self) -> list[int]:
        return [plan.number for plan in self._plans.values()]

    def get(self, key: PlanKey) -> KeptPlan | None:
        if key in self._plans:
            self._plans.move_to_end(key)
        return self._plans.get(key)

    def put(self, key: PlanKey, plan: KeptPlan) -> None:
        self._plans[key] = plan
        while len(self._plans) > _MOST_PLANS or self._bytes > _MOST_BYTES:
            self._plans.popitem(last=False)

    def clear(self) -> None:
        """The session may be another one now."""
        self._plans.clear()

    @property
    def _bytes(self) -> int:
        return sum(plan.bytes for plan in self._plans.values())
