"""What is asked of one version of a table, with the answers that stock Paimon's rows give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import pyarrow as pa

from tests.spark.generated_tables import Column, types
from tests.spark.generated_tables_questions import (
    Condition,
    condition,
    key_condition,
    key_in,
    quoted,
    summary,
)
from tests.spark.generated_tables_values import Plain, comparable
from tests.spark.test_differential import Question

_NUMBER = (Column("n", pa.int64()),)

Rows = list[list[Plain]]
Ask = Callable[[Random, str, Sequence[Column], Rows], Question]


def everything(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    return Question(f"SELECT * FROM {name}", tuple(columns), _texts(columns, rows))


def number(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    return Question(f"SELECT count(*) AS n FROM {name}", _NUMBER, Counter([f"[{len(rows)}]"]))


def a_few(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    limit = random.choice([1, 3, 10])
    return Question(f"SELECT * FROM {name} LIMIT {limit}", tuple(columns), _texts(columns, rows), limit)


def bounds(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    asked = summary(random, columns, rows)
    sql = f"SELECT {asked.selected} FROM {name} WHERE {asked.condition.sql}"
    return Question(sql, asked.columns, Counter([comparable(asked.row, types(asked.columns))]))


def one_key(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    key = _key(columns)
    if not rows or not key:
        return some(random, name, columns, rows)
    return _where(name, columns, rows, key_condition(columns, key, random.choice(rows)))


def many_keys(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    places = [place for place, each in enumerate(columns) if each.role == "key"]
    if not rows or not places:
        return some(random, name, columns, rows)
    return _where(name, columns, rows, key_in(random, columns, random.choice(places), rows))


def some(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    asked = condition(random, columns, rows)
    chosen = random.sample(range(len(columns)), random.randint(1, len(columns)))
    return _where(name, columns, rows, asked, chosen)


def number_of_some(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    asked = condition(random, columns, rows)
    held = [row for row in rows if asked.holds(row) is True]
    sql = f"SELECT count(*) AS n FROM {name} WHERE {asked.sql}"
    return Question(sql, _NUMBER, Counter([f"[{len(held)}]"]))


def groups(random: Random, name: str, columns: Sequence[Column], rows: Rows) -> Question:
    """Of texts, whole numbers and days: of other types Spark takes values for one that stock tells apart."""
    fit = [place for place, each in enumerate(columns) if _is_plain(each.type)]
    if not fit:
        return number(random, name, columns, rows)
    place = random.choice(fit)
    column = columns[place]
    sql = f"SELECT {quoted(column.name)}, count(*) AS n FROM {name} GROUP BY {quoted(column.name)}"
    counts = Counter(row[place] for row in rows)
    kinds = [column.type, pa.int64()]
    told = Counter(comparable([each, count], kinds) for each, count in counts.items())
    return Question(sql, (column, *_NUMBER), told)


QUESTIONS: tuple[Ask, ...] = (
    everything,
    number,
    a_few,
    bounds,
    one_key,
    many_keys,
    some,
    number_of_some,
    groups,
)


def _where(
    name: str,
    columns: Sequence[Column],
    rows: Rows,
    asked: Condition,
    chosen: Sequence[int] | None = None,
) -> Question:
    places = range(len(columns)) if chosen is None else chosen
    some = tuple(columns[place] for place in places)
    held = [row for row in rows if asked.holds(row) is True]
    told = Counter(comparable([row[place] for place in places], types(some)) for row in held)
    words = ", ".join(quoted(column.name) for column in some)
    return Question(f"SELECT {words} FROM {name} WHERE {asked.sql}", some, told)


def _texts(columns: Sequence[Column], rows: Rows) -> Counter[str]:
    return Counter(comparable(row, types(columns)) for row in rows)


def _key(columns: Sequence[Column]) -> list[str]:
    return [each.name for each in columns if each.role in ("partition", "key")]


def _is_plain(kind: pa.DataType) -> bool:
    return any(each(kind) for each in (pa.types.is_string, pa.types.is_integer, pa.types.is_date))
