"""Questions to a generated table, and their answers worked out from its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from tests.spark.generated_tables import Column
from tests.spark.generated_tables_values import Plain, literal, plain, value

# A row in, and out whether the condition is true, false, or null.
Truth = Callable[[Sequence[Plain]], bool | None]


@dataclass(frozen=True)
class Condition:
    """`sql` is what Spark is asked."""

    sql: str
    holds: Truth


def condition(random: Random, columns: Sequence[Column], rows: Sequence[Sequence[Plain]]) -> Condition:
    """One comparison, or two together. Values are those of a row, or made up where there is none."""
    if random.random() < 0.35:
        first, second = _simple(random, columns, rows), _simple(random, columns, rows)
        return random.choice([_both, _either])(first, second)
    return _simple(random, columns, rows)


def key_condition(columns: Sequence[Column], key: Sequence[str], row: Sequence[Plain]) -> Condition:
    """The one row of a whole key."""
    found = [_equal(each, index, row[index]) for index, each in enumerate(columns) if each.name in key]
    whole = found[0]
    for each in found[1:]:
        whole = _both(whole, each)
    return whole


def _simple(random: Random, columns: Sequence[Column], rows: Sequence[Sequence[Plain]]) -> Condition:
    atomic = [index for index, each in enumerate(columns) if not pa.types.is_nested(each.type)]
    index = random.choice(atomic or range(len(columns)))
    column = columns[index]
    name = quoted(column.name)
    kind = random.choice(["=", "=", "<", ">=", "<>", "IN", "NULL", "NOT NULL"])
    if kind == "NULL" or not atomic:
        return Condition(f"{name} IS NULL", lambda row: row[index] is None)
    if kind == "NOT NULL":
        return Condition(f"{name} IS NOT NULL", lambda row: row[index] is not None)
    there = [row[index] for row in rows if row[index] is not None]
    wanted = [
        random.choice(there)
        if there and random.random() < 0.8
        else plain(value(random, column.type), column.type)
        for _ in range(3)
    ]
    if kind == "IN":
        sql = f"{name} IN ({', '.join(literal(each, column.type) for each in wanted)})"
        among = [order(each, column.type) for each in wanted]
        return Condition(
            sql, lambda row: None if row[index] is None else order(row[index], column.type) in among
        )
    if kind == "=":
        return _equal(column, index, wanted[0])
    other = order(wanted[0], column.type)
    compares: Callable[[Any], bool] = {
        "<": lambda mine: bool(mine < other),
        ">=": lambda mine: bool(mine >= other),
        "<>": lambda mine: bool(mine != other),
    }[kind]
    return Condition(
        f"{name} {kind} {literal(wanted[0], column.type)}",
        lambda row: None if row[index] is None else compares(order(row[index], column.type)),
    )


def _equal(column: Column, index: int, wanted: Plain) -> Condition:
    if wanted is None:
        return Condition(f"{quoted(column.name)} IS NULL", lambda row: row[index] is None)
    other = order(wanted, column.type)
    return Condition(
        f"{quoted(column.name)} = {literal(wanted, column.type)}",
        lambda row: None if row[index] is None else order(row[index], column.type) == other,
    )


def _both(first: Condition, second: Condition) -> Condition:
    def holds(row: Sequence[Plain]) -> bool | None:
        truths = (first.holds(row), second.holds(row))
        return False if False in truths else None if None in truths else True

    return Condition(f"({first.sql} AND {second.sql})", holds)


def _either(first: Condition, second: Condition) -> Condition:
    def holds(row: Sequence[Plain]) -> bool | None:
        truths = (first.holds(row), second.holds(row))
        return True if True in truths else None if None in truths else False

    return Condition(f"({first.sql} OR {second.sql})", holds)


def order(given: Plain, kind: pa.DataType) -> Any:
    """A plain value as Spark compares it: text by its bytes, NaN after all numbers."""
    if pa.types.is_floating(kind):
        number = float(given)
        return (math.isnan(number), 0.0 if math.isnan(number) else number)
    if pa.types.is_string(kind):
        return given.encode()
    if pa.types.is_decimal(kind):
        return int(given.replace(".", ""))
    return given


def quoted(name: str) -> str:
    return f"`{name}`"
