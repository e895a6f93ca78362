"""Parse a plain selection of one system table. Pure: it reads no table.

`SELECT * | columns | count(*) FROM t$snapshots [WHERE column = literal AND ...] [ORDER BY ...] [LIMIT n]`;
anything else is left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from paimark.core.travel.parse.statement import Statement, TableUse, TokenCursor
from paimark.core.travel.parse.tokens import Token

_COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# Words that are not read as the name of a column.
_CLAUSES = ("FROM", "WHERE", "ORDER", "LIMIT", "AS")
_MOST_DIGITS = 18


_T = TypeVar("_T")


class _NotPlain(Exception):
    """The statement is not a plain selection."""


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the answer: `column` of the table, under the name `title`. `*` means all columns."""

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
    """`counts`: it selects the number of rows, under the title of its only item."""

    use: TableUse
    items: tuple[Item, ...]
    counts: bool
    conditions: tuple[Condition, ...]
    orders: tuple[Order, ...]
    limit: int | None


def read_selection(statement: Statement) -> Selection | None:
    """Parse a plain selection; None for any other statement."""
    if statement.kind != "query":
        return None
    try:
        return _Reader.of(statement).selection()
    except _NotPlain:
        return None


class _Reader(TokenCursor):
    def selection(self) -> Selection:
        self._expect("SELECT")
        items = self._several(self._item)
        self._expect("FROM")
        use = self._table()
        conditions = self._several(self._condition, "AND") if self.takes("WHERE") else ()
        orders = self._several(self._order) if self.takes("ORDER", "BY") else ()
        limit = self._number() if self.takes("LIMIT") else None
        counts = items[0].column == ""
        if self.index < len(self.tokens) or (counts and (len(items) > 1 or orders)):
            raise _NotPlain
        return Selection(use, items, counts, conditions, orders, limit)

    def _table(self) -> TableUse:
        position = self.position
        if not self.is_name(self.index):
            raise _NotPlain
        parts, self.index = self.read_name(self.index)
        if "$" not in parts[-1]:
            raise _NotPlain
        return TableUse(parts, position, self.tokens[self.index - 1].end)

    def _item(self) -> Item:
        if self.takes("*"):
            return Item("*", "*")
        if self.takes("COUNT", "(", "*", ")"):
            return Item("", self._title() or "count(1)")
        name = self._name()
        return Item(name, self._title() or name)

    def _title(self) -> str:
        return self._name() if self.takes("AS") else ""

    def _condition(self) -> Condition:
        column = self._name()
        if self.takes("IS"):
            comparison = "!=" if self.takes("NOT") else "="
            self._expect("NULL")
            return Condition(column, comparison, None)
        token = self._next()
        if token.text not in _COMPARISONS:
            raise _NotPlain
        return Condition(column, _COMPARISONS[token.text], self._literal())

    def _literal(self) -> int | str:
        token = self._next()
        return token.value if token.kind == "string" else _digits(token)

    def _order(self) -> Order:
        column = self._name()
        descending = self.takes("DESC")
        if not descending:
            self.takes("ASC")
        if not self.takes("NULLS"):
            return Order(column, descending, not descending)
        if self.takes("FIRST"):
            return Order(column, descending, True)
        self._expect("LAST")
        return Order(column, descending, False)

    def _number(self) -> int:
        return _digits(self._next())

    def _name(self) -> str:
        token = self._next()
        if not token.is_name or token.upper in _CLAUSES or not token.value:
            raise _NotPlain
        return token.value

    def _several(self, read: Callable[[], _T], separator: str = ",") -> tuple[_T, ...]:
        items = [read()]
        while self.takes(separator):
            items.append(read())
        return tuple(items)

    def _next(self) -> Token:
        if self.index == len(self.tokens):
            raise _NotPlain
        self.index += 1
        return self.tokens[self.index - 1]

    def _expect(self, word: str) -> None:
        if not self.takes(word):
            raise _NotPlain


def _digits(token: Token) -> int:
    if not (token.text.isascii() and token.text.isdigit() and len(token.text) <= _MOST_DIGITS):
        raise _NotPlain
    return int(token.text)
