"""A cache of query plans, for the same query of the same tables at the same snapshots in the same session.

A plan depends on the text, the current database, how many rows are shown, the tables, and the session:
settings, time zone, temporary views, variables. All but the session are in the `PlanKey`; any statement that
may change it empties `KeptPlans`. Only plans with the same result at any time are cached, and never rows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from itertools import pairwise, starmap
from typing import NamedTuple

from paimark.core.spark.engine.tables import OpenedTable
from paimark.core.spark.protocol import Columns
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.parse.tokens import Token

_MOST_PLANS = 64
_MOST_BYTES = 64 << 20


class PlanKey(NamedTuple):
    """`tables` are the places of tables in the text and in its views, each with the key of what is read."""

    sql: str
    database: str | None
    limit: int | None
    tables: tuple[tuple[str, int, tuple[str, ...]], ...]


def plan_key(
    statement: Statement, database: str | None, limit: int | None, tables: Collection[OpenedTable]
) -> PlanKey | None:
    """The key of a query; None if a table isn't read by Spark's own readers, and for `DATE'today'`."""
    read = tuple((table.use.key, table.use.at, table.native.key) for table in tables if table.native)
    if len(read) < len(tables) or any(starmap(_is_of_the_clock, pairwise(statement.tokens))):
        return None
    return PlanKey(statement.sql, database, limit, read)


def _is_of_the_clock(first: Token, second: Token) -> bool:
    """Whether it is a time in words (`today`), which Spark's parser replaces by a literal."""
    is_time = first.upper == "DATE" or first.upper.startswith("TIMESTAMP")
    return is_time and second.kind == "string" and second.value.strip()[:1].isalpha()


class KeptPlan(NamedTuple):
    """A plan by its `number` in `Queries`. `schema` begins the stream of its rows, `most` is its own LIMIT.

    `unread` are the places of tables that metadata answer; `bytes` is about what Java holds for the plan.
    """

    number: int
    columns: Columns
    schema: bytes
    most: int | None
    unread: tuple[int, ...]
    is_small: bool
    bytes: int


class KeptPlans:
    """The most recently used plans, within limits."""

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
        """Drop all plans, because the session may have changed."""
        self._plans.clear()

    @property
    def _bytes(self) -> int:
        return sum(plan.bytes for plan in self._plans.values())
