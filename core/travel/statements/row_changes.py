"""Parse `DELETE FROM t WHERE ...`, `UPDATE t SET ...` and `MERGE INTO t USING ...` to the changed table.

Spark itself parses the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from paimark.core.travel.parse.kinds import cte_list_end
from paimark.core.travel.parse.splice import Edit, Spliced
from paimark.core.travel.parse.uses import SqlText, Statement, TableUse

Command = Literal["delete", "update", "merge"]
COMMANDS: frozenset[str] = frozenset(get_args(Command))
_ACTIONS: dict[Command, str] = {"delete": "delete-from", "update": "update", "merge": "merge-into"}
_FORMS: dict[Command, str] = {
    "delete": "Write DELETE FROM db.t WHERE ...",
    "update": "Write UPDATE db.t SET column = value WHERE ...",
    "merge": "Write MERGE INTO db.t USING source ON ... WHEN MATCHED THEN ...",
}


@dataclass(frozen=True, slots=True)
class RowChange(SqlText):
    """`target` is the table that is changed, and `command` what Spark calls the statement."""

    command: Command
    target: TableUse
    # Counts the rows that are meant; None for MERGE, whose rows those of another table choose.
    counting: Spliced | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        return self.target.parts

    @property
    def table_position(self) -> int:
        return self.target.position

    @property
    def action(self) -> str:
        """Its name among the actions."""
        return _ACTIONS[self.command]

    @property
    def word(self) -> str:
        return self.command.upper()


def read_change(statement: Statement) -> RowChange:
    """Raises `SqlRefused` if the statement names no table."""
    command = cast(Command, statement.kind)
    if statement.target is None:
        start = statement.tokens[0].start
        raise statement.refused("The name of the table is missing", _FORMS[command], start)
    for first, second, third in zip(
        statement.tokens, statement.tokens[1:], statement.tokens[2:], strict=False
    ):
        # Spark reads these words, and does nothing about them for a table that does not evolve with rows.
        if (first.upper, second.upper, third.upper) == ("MERGE", "WITH", "SCHEMA"):
            hint = "Leave it out; ALTER TABLE adds the columns first."
            raise statement.refused("WITH SCHEMA EVOLUTION is not supported here", hint, second.start)
    return RowChange(statement.sql, command, statement.target, _counting(statement, command))


def _counting(statement: Statement, command: Command) -> Spliced | None:
    if command == "merge":
        return None
    tokens = statement.tokens
    start = cte_list_end(tokens) if tokens[0].upper == "WITH" else 0
    verb = tokens[start]
    if command == "delete":
        return Spliced.of(statement.sql, [Edit(verb.start, verb.end, "SELECT count(*)")])
    depth, end = 0, tokens[-1].end
    at: dict[str, int] = {}
    for token in tokens[start:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.upper in ("SET", "WHERE"):
            at.setdefault(token.upper, token.start)
    edits = [Edit(verb.start, verb.end, "SELECT count(*) FROM")]
    edits += [Edit(at.get("SET", end), at.get("WHERE", end), "")]
    return Spliced.of(statement.sql, edits)
