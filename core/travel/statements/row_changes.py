"""Parse `DELETE FROM t WHERE ...`, `UPDATE t SET ...` and `MERGE INTO t USING ...` to the changed table.

Spark itself parses the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from paimark.core.travel.parse.cursor import TokenCursor
from paimark.core.travel.parse.kinds import cte_list_end
from paimark.core.travel.parse.uses import SqlText, Statement
from paimark.core.travel.statements.inserts import PAST_WRITTEN

Command = Literal["delete", "update", "merge"]
_NOT_A_LINE_END = re.compile(r"[^\n]")
COMMANDS: frozenset[str] = frozenset(get_args(Command))
_ACTIONS: dict[Command, str] = {"delete": "delete-from", "update": "update", "merge": "merge-into"}
_FORMS: dict[Command, str] = {
    "delete": "Write DELETE FROM db.t WHERE ...",
    "update": "Write UPDATE db.t SET column = value WHERE ...",
    "merge": "Write MERGE INTO db.t USING source ON ... WHEN MATCHED THEN ...",
}


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
        return _ACTIONS[self.command]

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
