"""A statement that is a plain selection of one system table, taken apart: pure, no table is looked at.

`SELECT * | columns | count(*) FROM t$snapshots [WHERE column = literal AND ...] [ORDER BY ...] [LIMIT n]`;
whatever is more than that is Spark's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.travel.parse.tokens import Token
from core.travel.parse.uses import Statement, TableUse

_COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# Words that end a column's name, where another name would be.
_CLAUSES = ("FROM", "WHERE", "ORDER", "LIMIT", "AS")
_MOST_DIGITS = 18


_T = TypeVar("_T")


class _Another(Exception):
    """It is another statement than those that are read here."""


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the answer: `column` of the table, under the name `title`. `*` is all of them."""

    column: str
    title: str


@dataclass(frozen=True, slots=True)
class Condition:
    """`literal` is None for IS NULL (`=`) and IS NOT NULL (`!=`)."""

    column: str
    comparison: str
    literal: int | str | None


@dataclass(frozen=True, slots=True)
class Order:
    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """`counts`: it asks for the number of rows, under the title of its only item."""

    use: TableUse
    items: tuple[Item, ...]
    counts: bool
    conditions: tuple[Condition, ...]
    orders: tuple[Order, ...]
    limit: int | None


def read_selection(statement: Statement) -> Selection | None:
    """None for any other statement."""
    if statement.kind != "query" or len(statement.uses) != 1:
        return None
    use = statement.uses[0]
    if use.clause is not None or use.alias is not None or "$" not in use.parts[-1]:
        return None
    try:
        return _Reader(statement.tokens, use).selection()
    except _Another:
        return None


class _Reader:
    def __init__(self, tokens: Sequence[Token], use: TableUse) -> None:
        self._tokens = tokens
        self._use = use
        self._at = 0

    def selection(self) -> Selection:
        self._expect("SELECT")
        items = self._several(self._item)
        self._expect("FROM")
        self._table()
        conditions = self._several(self._condition, "AND") if self._takes("WHERE") else ()
        orders: tuple[Order, ...] = ()
        if self._takes("ORDER"):
            self._expect("BY")
            orders = self._several(self._order)
        limit = self._number() if self._takes("LIMIT") else None
        counts = items[0].column == ""
        if self._at < len(self._tokens) or (counts and (len(items) > 1 or orders)):
            raise _Another
        return Selection(self._use, items, counts, conditions, orders, limit)

    def _table(self) -> None:
        start, end = self._use.name_span
        if self._peek is None or self._peek.start != start:
            raise _Another
        while self._peek is not None and self._peek.start < end:
            self._at += 1

    def _item(self) -> Item:
        if self._takes("*"):
            return Item("*", "*")
        if self._peek is not None and self._peek.upper == "COUNT" and self._follows("(", "*", ")"):
            self._at += 4
            return Item("", self._title() or "count(1)")
        name = self._name()
        return Item(name, self._title() or name)

    def _title(self) -> str:
        return self._name() if self._takes("AS") else ""

    def _condition(self) -> Condition:
        column = self._name()
        if self._takes("IS"):
            comparison = "!=" if self._takes("NOT") else "="
            self._expect("NULL")
            return Condition(column, comparison, None)
        token = self._next()
        if token.text not in _COMPARISONS:
            raise _Another
        return Condition(column, _COMPARISONS[token.text], self._literal())

    def _literal(self) -> int | str:
        token = self._next()
        if token.kind == "string":
            return token.value
        return self._digits(token)

    def _order(self) -> Order:
        column = self._name()
        descending = self._takes("DESC")
        if not descending:
            self._takes("ASC")
        if not self._takes("NULLS"):
            return Order(column, descending, not descending)
        if self._takes("FIRST"):
            return Order(column, descending, True)
        self._expect("LAST")
        return Order(column, descending, False)

    def _number(self) -> int:
        return self._digits(self._next())

    @staticmethod
    def _digits(token: Token) -> int:
        if not (token.text.isascii() and token.text.isdigit() and len(token.text) <= _MOST_DIGITS):
            raise _Another
        return int(token.text)

    def _name(self) -> str:
        token = self._next()
        if not token.is_name or token.upper in _CLAUSES or not token.value:
            raise _Another
        return token.value

    def _several(self, read: Callable[[], _T], separator: str = ",") -> tuple[_T, ...]:
        found = [read()]
        while self._takes(separator):
            found.append(read())
        return tuple(found)

    @property
    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> Token:
        if self._peek is None:
            raise _Another
        self._at += 1
        return self._tokens[self._at - 1]

    def _follows(self, *texts: str) -> bool:
        behind = self._tokens[self._at + 1 : self._at + 1 + len(texts)]
        return tuple(token.text for token in behind) == texts

    def _takes(self, word: str) -> bool:
        """Go past a keyword or symbol, if it is next."""
        found = self._peek is not None and word in (self._peek.upper, self._peek.text)
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._takes(word):
            raise _Another
