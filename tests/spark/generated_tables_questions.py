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


def key_in(
    random: Random, columns: Sequence[Column], place: int, rows: Sequence[Sequence[Plain]]
) -> Condition:
    """Some values of one key column, of which one may be of no row."""
    kind = columns[place].type
    wanted = [random.choice(rows)[place] for _ in range(3)] + [plain(value(random, kind), kind)]
    words = ", ".join(literal(each, kind) for each in wanted if each is not None)
    among = [order(each, kind) for each in wanted if each is not None]
    return Condition(
        f"{quoted(columns[place].name)} IN ({words})",
        lambda row: None if row[place] is None else order(row[place], kind) in among,
    )


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


@dataclass(frozen=True)
class Summary:
    """An aggregate: what is selected, of the rows for which a condition holds, and its one row."""

    selected: str
    condition: Condition
    columns: tuple[Column, ...]
    row: list[Plain]


def summary(random: Random, columns: Sequence[Column], rows: Sequence[Sequence[Plain]]) -> Summary:
    """Bounds and counts, mostly of partitions."""
    partition = [place for place, each in enumerate(columns) if each.role == "partition"]
    asked = condition(random, columns, rows)
    if random.random() < 0.8:
        found = [_simple(random, [columns[place]], [[row[place]] for row in rows]) for place in partition]
        moved = [_at(place, each) for place, each in zip(partition, found, strict=True)]
        asked = Condition("true", lambda row: True)
        for each in moved[: random.randint(0, 2)]:
            asked = random.choice([_both, _either])(asked, each)
    held = [row for row in rows if asked.holds(row) is True]
    bounded = [place for place, each in enumerate(columns) if _has_bounds(each.type)]
    selected, made = ["count(*) AS n"], [Column("n", pa.int64())]
    told: list[Plain] = [len(held)]
    for place in random.sample(bounded, min(len(bounded), random.choice([0, 1, 2]))):
        column = columns[place]
        there = sorted(
            (row[place] for row in held if row[place] is not None), key=lambda v: order(v, column.type)
        )
        for name, index in (("min", 0), ("max", -1)):
            selected.append(f"{name}({quoted(column.name)}) AS {name}{place}")
            made.append(Column(f"{name}{place}", column.type, word=column.word))
            told.append(there[index] if there else None)
    return Summary(", ".join(selected), asked, tuple(made), told)


def _at(place: int, asked: Condition) -> Condition:
    """The same on the column at a place."""
    return Condition(asked.sql, lambda row: asked.holds([row[place]]))


def _has_bounds(kind: pa.DataType) -> bool:
    unlike = pa.types.is_nested, pa.types.is_floating, pa.types.is_binary
    return not any(each(kind) for each in unlike)


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
