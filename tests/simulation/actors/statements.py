"""DELETE, UPDATE and MERGE of one key, and TRUNCATE, as the simulation runs them: SQL, and what they do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from paimark.core.actions.registry import Action, action
from paimark.core.statements.row_change import action_of_change
from paimark.core.statements.tables import action_of_table_statement
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.tables import is_of_table
from tests.simulation.actors import edits, tries
from tests.simulation.formats import KEY, VALUE, Rows
from tests.simulation.world import TABLE

_MERGED = f"(SELECT {{key}} AS {KEY}, {{value}} AS {VALUE})"
_SQL = {
    "delete-from": f"DELETE FROM {{table}} WHERE {KEY} = {{key}}",
    "update": f"UPDATE {{table}} SET {VALUE} = {{value}} WHERE {KEY} = {{key}}",
    "merge-into": (
        f"MERGE INTO {{table}} t USING {_MERGED} s ON t.{KEY} = s.{KEY} "
        f"WHEN MATCHED THEN UPDATE SET {VALUE} = s.{VALUE} WHEN NOT MATCHED THEN INSERT *"
    ),
    # As its plan and its operation are called.
    "insert-overwrite": "TRUNCATE TABLE {table}",
}
STATEMENTS = tuple(_SQL)
_NUMBERS = re.compile(
    rf"SET {VALUE} = (?P<value>[0-9]+) WHERE|SELECT (?P<of>[0-9]+) AS {KEY}, (?P<to>[0-9]+)"
)
_KEY = re.compile(rf"{KEY} = ([0-9]+)")
_BRANCH = re.compile(r"\$branch_([^`]+)`")


class Changing(NamedTuple):
    """One statement; `branch` is None for main."""

    name: str
    key: int
    value: int
    branch: str | None

    @classmethod
    def of(cls, name: str, arguments: Mapping[str, object]) -> Changing:
        branch = arguments.get("branch")
        key, value = (int(str(arguments.get(each, 0))) for each in ("key", "value"))
        return cls(name, key, value, None if branch is None else str(branch))

    @classmethod
    def of_sql(cls, sql: str) -> Changing:
        """Of a statement, or of the query that counts its rows."""
        words = {word: name for name, text in _SQL.items() for word in text.split()[:1]}
        words["INSERT"] = words.pop("TRUNCATE")
        named, numbers, keys = _BRANCH.search(sql), _NUMBERS.search(sql), _KEY.search(sql)
        key, value = 0, 0
        if numbers is not None and numbers["of"]:
            key, value = int(numbers["of"]), int(numbers["to"])
        elif keys is not None:
            key, value = int(keys[1]), int(numbers["value"]) if numbers is not None else 0
        return cls(words.get(sql.split()[0], ""), key, value, named and named[1])

    @property
    def sql(self) -> str:
        table = TABLE.name if self.branch is None else f"{TABLE.name}$branch_{self.branch}"
        return self.sql_of(f"{TABLE.database}.`{table}`")

    def sql_of(self, table: str) -> str:
        return _SQL[self.name].format(table=table, key=self.key, value=self.value)

    def of_rows(self, rows: Rows) -> Rows:
        """The rows after it."""
        if self.is_of_all:
            return ()
        if self.name == "delete-from":
            return tuple(each for each in rows if each[0] != self.key)
        changed = [(key, self.value if key == self.key else value) for key, value in rows]
        is_new = self.name == "merge-into" and not self.meant(rows)
        return tuple(sorted([*changed, *([(self.key, self.value)] if is_new else [])]))

    @property
    def is_of_all(self) -> bool:
        return self.name == "insert-overwrite"

    def meant(self, rows: Rows) -> int:
        return len(rows) if self.is_of_all else sum(key == self.key for key, _ in rows)


def action_called(name: str, arguments: Mapping[str, object]) -> tuple[Action, Mapping[str, object]]:
    """An action, or a statement as one; and the arguments that it takes beside the table."""
    if name == "edit-rows":
        return action(name), edits.arguments_of(arguments)
    if name == "try":
        changed = Changing.of(str(arguments["statement"]), arguments)
        return tries.TRY, tries.arguments_of(arguments, changed.sql_of("{this}"))
    if name not in _SQL:
        return action(name), arguments
    statement = read_statement(Changing.of(name, arguments).sql)
    if is_of_table(statement):
        return action_of_table_statement(statement, None)[0].action, {}
    called, _ = action_of_change(statement)
    return called.action, {}
