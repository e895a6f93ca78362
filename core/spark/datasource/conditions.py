"""Conditions as pypaimon takes them. Imports nothing of Spark: rows are also read without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class PypaimonCondition(msgspec.Struct, frozen=True):
    """`method` is a method of pypaimon's predicate builder."""

    method: str
    column: str
    values: tuple[Any, ...] = ()


def predicate(builder: Any, wanted: Iterable[PypaimonCondition]) -> Any:
    """pypaimon's predicate for all of the conditions; None for none."""
    return builder.and_predicates(
        [getattr(builder, each.method)(each.column, *each.values) for each in wanted]
    )
