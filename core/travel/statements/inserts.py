"""Parse INSERT to its target and its query, and DELETE, UPDATE and MERGE to the changed table.

The query of an INSERT is the statement with blanks in place of the head, so that all positions in it stay
valid. Spark itself parses the rest of the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast, get_args

from paimark.core.table.definition.row_changes import ACTIONS, Command
from paimark.core.travel.parse.sql import cte_list_end
from paimark.core.travel.parse.statement import SqlRefused, SqlText, Statement, TokenCursor
from paimark.core.travel.parse.tokens import keywords

_QUERY_STARTS = keywords("SELECT WITH FROM VALUES TABLE MAP REDUCE (")
PAST_WRITTEN = (
    "A clause can't follow the table that is written: the past can't be changed",
    "Read the past state, and write what comes of it to the table as it is now.",
)
_FORM = "Write INSERT INTO db.t [PARTITION (p = 'x')] [(columns)] SELECT or VALUES ..."
_NOT_A_LINE_END = re.compile(r"[^\n]")
COMMANDS: frozenset[str] = frozenset(get_args(Command))
_FORMS: dict[Command, str] = {
    "delete": "Write DELETE FROM db.t WHERE ...",
    "update": "Write UPDATE db.t SET column = value WHERE ...",
    "merge": "Write MERGE INTO db.t USING source ON ... WHEN MATCHED THEN ...",
}


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column that the head names. `value` is the literal of PARTITION as text; None: the query gives it."""

    name: str
    position: int
    value: str | None = None
    # Without quotes; None for NULL.
    unquoted: str | None = None


@dataclass(frozen=True, slots=True)
class Insert(SqlText):
    """`parts` is the table's name as written. `partition` is None without PARTITION. `columns` is None if the
    query's columns are matched by position, or, with `by_name`, by name."""

    parts: tuple[str, ...]
    table_position: int
    overwrite: bool
    query: str
    query_position: int
    partition: tuple[NamedColumn, ...] | None = None
    columns: tuple[NamedColumn, ...] | None = None
    by_name: bool = False

    @property
    def action(self) -> str:
        """Its name among the actions."""
        return "insert-overwrite" if self.overwrite else "insert-into"

    @property
    def static(self) -> tuple[NamedColumn, ...]:
        """The partition columns to which the head gives a value."""
        return tuple(each for each in self.partition or () if each.value is not None)


def read_insert(statement: Statement) -> Insert:
    """Parse an INSERT, also after WITH. Raises `SqlRefused`, with its position, if it is not supported."""
    tokens = statement.tokens
    start = cte_list_end(tokens) if tokens and tokens[0].upper == "WITH" else 0
    return _InsertReader.of(statement, start).read()


class _InsertReader(TokenCursor):
    def read(self) -> Insert:
        start = self.position
        overwrite = self.upper(self.index + 1) == "OVERWRITE"
        if not (self.takes("INSERT", "INTO") or self.takes("INSERT", "OVERWRITE")):
            self.refuse("INSERT can't stand behind the query here, nor several in one statement", _FORM)
        if self.upper(self.index) in ("DIRECTORY", "LOCAL"):
            self.refuse("Rows are written to tables, not to a directory", _FORM)
        if self.upper(self.index) == "TABLE" and self.is_name(self.index + 1):
            self.index += 1
        position = self.position
        if not self.is_name(self.index):
            self.refuse("The name of the table is missing", _FORM)
        parts, self.index = self.read_name(self.index)
        if self.is_clause(self.index):
            self.refuse(*PAST_WRITTEN)
        partition = self._partition() if self.takes("PARTITION") else None
        if self.upper(self.index) in ("IF", "WITH") and self.text(self.index + 1) in ("NOT", "("):
            self.refuse(f"INSERT can't {self.text(self.index)} {self.text(self.index + 1)} here", _FORM)
        if self.upper(self.index) == "REPLACE":
            self.refuse("REPLACE is not done here", "INSERT OVERWRITE replaces partitions, or the table.")
        by_name = self.takes("BY", "NAME")
        columns = None if by_name or not self._is_list() else self._names(with_values=False)
        if (self.upper(self.index) or self.text(self.index)) not in _QUERY_STARTS:
            self.refuse("The query or the VALUES that give the rows are missing", _FORM)
        end = self.position
        head = _NOT_A_LINE_END.sub(" ", self.sql[start:end])
        query = self.sql[:start] + head + self.sql[end:]
        return Insert(self.sql, parts, position, overwrite, query, end, partition, columns, by_name)

    def _is_list(self) -> bool:
        """Whether the parenthesis here contains columns, and not a query."""
        is_query = self.upper(self.index + 1) in _QUERY_STARTS
        return self.text(self.index) == "(" and self.is_name(self.index + 1) and not is_query

    def _partition(self) -> tuple[NamedColumn, ...]:
        if self.text(self.index) != "(":
            self.refuse("( must follow PARTITION", _FORM)
        return self._names(with_values=True)

    def _names(self, *, with_values: bool) -> tuple[NamedColumn, ...]:
        """Read columns in parentheses; with `with_values`, those of PARTITION with their values."""
        self.index += 1
        names: list[NamedColumn] = []
        names_so_far: set[str] = set()
        while True:
            position = self.position
            if not self.is_name(self.index):
                self.refuse("The name of a column is missing", _FORM)
            name = self.tokens[self.index].value
            self.index += 1
            if name.lower() in names_so_far:
                raise SqlRefused(f"{name} is named twice", "Leave one of them out.", self.sql, position)
            names_so_far.add(name.lower())
            value, unquoted = self._literal(name) if with_values and self.takes("=") else (None, None)
            names.append(NamedColumn(name, position, value, unquoted))
            if self.takes(")"):
                return tuple(names)
            if not self.takes(","):
                self.refuse("A comma or ) is missing", _FORM)

    def _literal(self, name: str) -> tuple[str, str | None]:
        """Read one literal: its text, and its value without quotes (None for NULL)."""
        start = self.index
        if self.text(self.index) in ("-", "+") or self.upper(self.index) in ("DATE", "TIMESTAMP"):
            self.index += 1
        token = self.tokens[self.index] if self.index < len(self.tokens) else None
        is_word = token is not None and token.upper in ("TRUE", "FALSE", "NULL") and self.index == start
        if token is None or not (is_word or token.kind in ("string", "number")):
            self.refuse(f"The partition's {name} is not a literal", "Write a text, a number or a date.")
        self.index += 1
        sign = "-" if self.text(start) == "-" else ""
        text = self.sql[self.tokens[start].start : token.end]
        return text, None if token.upper == "NULL" else sign + token.value


@dataclass(frozen=True, slots=True)
class Counting(SqlText):
    """A query that counts rows. From `start` on, it has `longer` characters more than the statement."""

    start: int
    longer: int

    def original_position(self, position: int) -> int:
        return position if position <= self.start else max(self.start, position - self.longer)


@dataclass(frozen=True, slots=True)
class RowChange(SqlText):
    """`parts` is the name of the table that is changed, and `command` what Spark calls the statement."""

    command: Command
    parts: tuple[str, ...]
    table_position: int
    # Counts the rows that are meant; None for MERGE, whose rows those of another table choose.
    counting: Counting | None = None

    @property
    def action(self) -> str:
        """Its name among the actions."""
        return ACTIONS[self.command]

    @property
    def word(self) -> str:
        return self.command.upper()


def read_change(statement: Statement) -> RowChange:
    """Raises `SqlRefused` if the statement names no table."""
    command, tokens = cast(Command, statement.kind), statement.tokens
    cursor = TokenCursor.of(statement, cte_list_end(tokens) if tokens[0].upper == "WITH" else 0)
    cursor.takes("DELETE", "FROM") or cursor.takes("UPDATE")
    if command == "merge":
        while cursor.index < len(tokens) and not cursor.takes("INTO"):
            cursor.index += 1
    position = cursor.position
    if not cursor.is_name(cursor.index):
        raise statement.refused("The name of the table is missing", _FORMS[command], tokens[0].start)
    parts, cursor.index = cursor.read_name(cursor.index)
    if cursor.is_clause(cursor.index):
        cursor.refuse(*PAST_WRITTEN)
    for first, second, third in zip(tokens, tokens[1:], tokens[2:], strict=False):
        # Spark reads these words, and does nothing about them for a table that does not evolve with rows.
        if (first.upper, second.upper, third.upper) == ("MERGE", "WITH", "SCHEMA"):
            hint = "Leave it out; ALTER TABLE adds the columns first."
            raise statement.refused("WITH SCHEMA EVOLUTION is not supported here", hint, second.start)
    return RowChange(statement.sql, command, parts, position, _counting(statement, command))


def _counting(statement: Statement, command: Command) -> Counting | None:
    if command == "merge":
        return None
    sql, tokens = statement.sql, statement.tokens
    verb = tokens[cte_list_end(tokens) if tokens[0].upper == "WITH" else 0]
    if command == "update":
        depth, end = 0, tokens[-1].end
        at: dict[str, int] = {}
        for token in tokens:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0 and token.start > verb.start and token.upper in ("SET", "WHERE"):
                at.setdefault(token.upper, token.start)
        first, last = at.get("SET", end), at.get("WHERE", end)
        # Blanks, so that positions behind stay.
        sql = sql[:first] + _NOT_A_LINE_END.sub(" ", sql[first:last]) + sql[last:]
    query = "SELECT count(*)" + (" FROM" if command == "update" else "")
    sql = sql[: verb.start] + query + sql[verb.end :]
    return Counting(sql, verb.start, len(query) - (verb.end - verb.start))
