"""Conditions for pypaimon. Imports nothing of Spark, because rows are also read without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class PypaimonCondition(msgspec.Struct, frozen=True):
    """`method` is a method of pypaimon's predicate builder."""

    method: str
    column: str
    values: tuple[Any, ...] = ()


def predicate(builder: Any, conditions: Iterable[PypaimonCondition]) -> Any:
    """pypaimon's predicate that all conditions hold; None without conditions."""
    return builder.and_predicates(
        [getattr(builder, each.method)(each.column, *each.values) for each in conditions]
    )
