"""Read names, aliases and parentheses from the tokens of a statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimark.core.travel.parse.clauses import read_clause, starts_clause
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.hints import is_options, read_hint, read_with
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.parse.uses import Clause, TableUse

# Words that end a FROM list. Those in _WITH_BY do so only before BY; elsewhere they are names.
_ENDS_FROM = keywords(
    """WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE WINDOW LIMIT OFFSET QUALIFY SELECT INSERT SET WHEN
    MAP REDUCE"""
)
_WITH_BY = keywords("GROUP ORDER SORT CLUSTER DISTRIBUTE")
_NEVER_NAMES = keywords(
    """ANTI AS CROSS EXCEPT FROM FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON PIVOT RIGHT SEMI
    TABLESAMPLE UNION UNPIVOT USING WITH"""
)
_CLAUSE_HINT = "The clause stands directly behind the table's name, before its alias: t VERSION AS OF 5 AS o."


def with_clause(sql: str, use: TableUse, clause: Clause) -> TableUse:
    """The use of a table with a clause."""
    time = sql[slice(*clause.time_span)] if clause.time_span else None
    return replace(use, clause=clause, time_expression=time)


class NameReader:
    """Reads single items at an index of `tokens`. The text at an index outside them is empty."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self.sql = sql
        self.tokens = tokens

    def text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def upper(self, index: int) -> str:
        return self.tokens[index].upper if 0 <= index < len(self.tokens) else ""

    def is_name(self, index: int) -> bool:
        return 0 <= index < len(self.tokens) and self.tokens[index].is_name

    def is_table_name(self, index: int) -> bool:
        """Whether a name is here that doesn't begin a clause of the query."""
        return self.is_name(index) and self.upper(index) not in _NEVER_NAMES | {"SELECT", "WHERE"}

    def read_name(self, index: int) -> tuple[tuple[str, ...], int]:
        """The parts of the dotted name at `index`, and the index after it."""
        parts = [self.tokens[index].value]
        index += 1
        while self.text(index) == "." and self.is_name(index + 1):
            parts.append(self.tokens[index + 1].value)
            index += 2
        return tuple(parts), index

    def read_table(self, index: int, with_alias: bool = True) -> tuple[TableUse, int]:
        """The table at `index` with its clause, sample and alias, and the index after them."""
        parts, behind = self.read_name(index)
        use = TableUse(parts, (self.tokens[index].start, self.tokens[behind - 1].end))
        if starts_clause(self.tokens, behind):
            clause, behind = read_clause(self.sql, self.tokens, behind)
            use = with_clause(self.sql, use, clause)
        elif is_options(self.tokens, behind):
            clause, behind = read_hint(self.sql, self.tokens, behind)
            use = with_clause(self.sql, use, clause)
        elif with_alias and self._has_options(behind):
            clause, behind = read_with(self.sql, self.tokens, behind)
            use = with_clause(self.sql, use, clause)
        self._refuse_second(behind, use)
        if not with_alias:
            return use, behind
        alias, behind = self.read_alias(self.sample_end(behind))
        self._refuse_clause(behind, "The time-travel clause comes before the alias")
        return replace(use, alias=alias), behind

    def read_alias(self, index: int) -> tuple[str | None, int]:
        """The alias at `index`, if there is one, and the index after it and its list of columns."""
        if self.upper(index) == "AS" and self.is_name(index + 1):
            index += 1
        elif (
            not self.is_name(index)
            or self.upper(index) in _NEVER_NAMES
            or self.ends_from(index)
            or starts_clause(self.tokens, index)
        ):
            return None, index
        alias = self.tokens[index].value
        index += 1
        return alias, self.parenthesis_end(index) if self.text(index) == "(" else index

    def sample_end(self, index: int) -> int:
        if self.upper(index) == "TABLESAMPLE" and self.text(index + 1) == "(":
            index = self.parenthesis_end(index + 1)
            if self.upper(index) == "REPEATABLE" and self.text(index + 1) == "(":
                index = self.parenthesis_end(index + 1)
        return index

    def values_end(self, index: int) -> int:
        """The index after the rows of VALUES."""
        while True:
            if self.is_name(index):
                index += 1
            index = self.parenthesis_end(index) if self.text(index) == "(" else index + 1
            behind = index + 1
            row_follows = self.is_name(behind) and self.text(behind + 1) == "("
            row_follows |= 0 <= behind < len(self.tokens) and self.tokens[behind].kind in ("number", "string")
            if self.text(index) != "," or not (row_follows or self.text(behind) == "("):
                return index
            index = behind

    def cte_body(self, index: int) -> int | None:
        """The index of the parenthesis with the query that WITH names at `index`; None if there is none."""
        if not self.is_name(index):
            return None
        index += 1
        if self.text(index) == "(":
            behind = self.parenthesis_end(index)
            if self.upper(behind) not in ("AS", "MAX") and self.text(behind) != "(":
                # A query without AS and columns: WITH a (SELECT 1).
                return (
                    index if self.upper(index + 1) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") else None
                )
            index = behind
        if self.upper(index) == "MAX" and self.upper(index + 1) == "RECURSION":
            index += 4
        index += self.upper(index) == "AS"
        return index if self.text(index) == "(" else None

    def ends_from(self, index: int) -> bool:
        """Whether a clause that follows FROM begins here."""
        word, after = self.upper(index), self.upper(index + 1)
        if word not in _ENDS_FROM:
            return False
        if word in _WITH_BY:
            return after == "BY"
        if word == "WINDOW":
            return self.is_name(index + 1) and self.upper(index + 2) == "AS"
        if word in ("MAP", "REDUCE"):
            return self.is_table_name(index + 1) and not self.ends_from(index + 1)
        return True

    def parenthesis_end(self, index: int) -> int:
        """The index after the parenthesis that opens at `index`."""
        depth = 0
        while index < len(self.tokens):
            depth += (self.text(index) == "(") - (self.text(index) == ")")
            index += 1
            if depth == 0:
                break
        return index

    def _has_options(self, index: int) -> bool:
        """Whether Spark's options of a table begin here."""
        return self.upper(index) == "WITH" and self.text(index + 1) == "("

    def _refuse_second(self, index: int, use: TableUse) -> None:
        """Refuse a clause or options behind those of the `use`."""
        if use.clause is None:
            return
        reason = "A table takes one time-travel clause"
        self._refuse_clause(index, reason)
        if is_options(self.tokens, index) or self._has_options(index):
            raise SqlRefused(
                f"{reason}: {use.clause.words} or options", _CLAUSE_HINT, self.sql, self.tokens[index].start
            )

    def _refuse_clause(self, index: int, reason: str) -> None:
        if starts_clause(self.tokens, index):
            raise SqlRefused(reason, _CLAUSE_HINT, self.sql, self.tokens[index].start)
