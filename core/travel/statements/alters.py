"""Parse `ALTER TABLE t ADD COLUMN c INT AFTER b` to changes of a table's definition, with positions.

The argument of the action is parsed too, which is a list of changes only: `c INT AFTER b`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from paimark.core.quoting import literal, quoted
from paimark.core.travel.parse.statement import SqlText, Statement, TokenCursor
from paimark.core.travel.parse.tokens import keywords, tokenize

AlterKind = Literal["add", "drop", "rename", "widen", "nullable", "set", "unset"]

_FORMS = (
    "There are ADD COLUMN(S), DROP COLUMN(S), RENAME COLUMN a TO b, ALTER COLUMN a TYPE t, "
    "ALTER COLUMN a DROP NOT NULL, SET TBLPROPERTIES and UNSET TBLPROPERTIES."
)
_ENDS_TYPE = keywords("COMMENT FIRST AFTER NOT DEFAULT")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change. `value` is the new name, the type as written, or the option's value.

    `after` is the column before the new one; empty puts it first, None last.
    `if_exists`: a missing column or option is no error.
    """

    kind: AlterKind
    name: str
    value: str = ""
    comment: str | None = None
    after: str | None = None
    if_exists: bool = False
    position: int = 0

    def __str__(self) -> str:
        """In the form that `read_changes` parses."""
        match self.kind:
            case "set":
                return f"{literal(self.name)} = {literal(self.value)}"
            case "unset":
                return literal(self.name)
            case "rename":
                return f"{_name(self.name)} TO {_name(self.value)}"
        words = [_name(self.name), self.value]
        if self.comment is not None:
            words.append(f"COMMENT {literal(self.comment)}")
        if self.after is not None:
            words.append(f"AFTER {_name(self.after)}" if self.after else "FIRST")
        return " ".join(filter(None, words))


@dataclass(frozen=True, slots=True)
class Alter(SqlText):
    """An ALTER TABLE. `parts` is the table's name as written, without backticks."""

    parts: tuple[str, ...]
    table_position: int
    changes: tuple[SchemaChange, ...]


def read_alter(statement: Statement) -> Alter:
    """Parse a statement that begins with ALTER. Raises `SqlRefused`, with its position, if unsupported."""
    return _AlterReader.of(statement, 1).read()


def read_changes(kind: AlterKind, text: str) -> tuple[SchemaChange, ...]:
    """Parse changes of one kind: `a INT, b STRING`. Raises `SqlRefused`."""
    return _AlterReader(text, tokenize(text)).read_changes(kind)


def changes_text(changes: Iterable[SchemaChange]) -> str:
    """Changes of one kind, in the form that `read_changes` parses."""
    listed = list(changes)
    head = "IF EXISTS " if any(each.if_exists for each in listed) else ""
    return head + ", ".join(map(str, listed))


class _AlterReader(TokenCursor):
    def read(self) -> Alter:
        if not self.takes("TABLE"):
            self.refuse("Only tables are altered here", "Write ALTER TABLE db.t ...")
        position = self.position
        if not self.is_name(self.index):
            self.refuse("The name of the table is missing", "Write ALTER TABLE db.t ...")
        parts, self.index = self.read_name(self.index)
        return Alter(self.sql, parts, position, self.read_changes(self._kind()))

    def _kind(self) -> AlterKind:
        """Read the kind of change after the table's name, and move past its words."""
        form, noun = self.upper(self.index), self.upper(self.index + 1)
        columns = noun in ("COLUMN", "COLUMNS")
        kind: AlterKind | None = None
        if form in ("ADD", "DROP") and columns:
            kind = "add" if form == "ADD" else "drop"
        elif form == "RENAME" and noun == "COLUMN":
            kind = "rename"
        elif form in ("ALTER", "CHANGE") and self.is_name(self.index + 1):
            self.index += 1 + (noun == "COLUMN" and self.is_name(self.index + 2))
            _, behind = self.read_name(self.index)
            return "nullable" if self.upper(behind) == "DROP" else "widen"
        elif form in ("SET", "UNSET") and noun == "TBLPROPERTIES":
            kind = "set" if form == "SET" else "unset"
        if kind is None:
            words = " ".join(filter(None, (form or self.text(self.index), noun)))
            self.refuse(f"ALTER TABLE can't {words} here" if words else "What to alter is missing", _FORMS)
        self.index += 2
        return kind

    def read_changes(self, kind: AlterKind) -> tuple[SchemaChange, ...]:
        """Parse a list, with or without parentheses, up to the end of the text."""
        if_exists = kind in ("drop", "unset") and self.takes("IF", "EXISTS")
        in_parentheses = self.takes("(")
        readers: dict[AlterKind, Callable[[], SchemaChange]] = {
            "add": self._added,
            "drop": lambda: SchemaChange("drop", self._column(), if_exists=if_exists),
            "rename": self._renamed,
            "widen": self._widened,
            "nullable": self._made_nullable,
            "set": self._option_set,
            "unset": lambda: SchemaChange("unset", self._option(), if_exists=if_exists),
        }
        changes = []
        while True:
            position = self.position
            change = readers[kind]()
            changes.append(replace(change, position=position))
            if not self.takes(","):
                break
        if in_parentheses and not self.takes(")"):
            self.refuse("A comma or ) is missing", _FORMS)
        if self.text(self.index):
            self.refuse(f"{self.text(self.index)} can't follow here", _FORMS)
        return tuple(changes)

    def _added(self) -> SchemaChange:
        name, kind = self._column(), self._type()
        comment: str | None = None
        after: str | None = None
        while True:
            if self.takes("COMMENT"):
                comment = self._string()
            elif self.takes("FIRST"):
                after = ""
            elif self.takes("AFTER"):
                after = self._column()
            elif self.upper(self.index) == "NOT":
                self.refuse(
                    f"Column {name} can't be NOT NULL: the rows that are there have no value for it",
                    "Leave NOT NULL out.",
                )
            elif self.upper(self.index) == "DEFAULT":
                self.refuse(f"Column {name} can't be given a default here", "Leave DEFAULT out.")
            else:
                return SchemaChange("add", name, kind, comment, after)

    def _renamed(self) -> SchemaChange:
        name = self._column()
        if not self.takes("TO"):
            self.refuse("TO and the new name are missing", "Write RENAME COLUMN a TO b.")
        return SchemaChange("rename", name, self._column())

    def _widened(self) -> SchemaChange:
        name = self._column()
        words = " ".join(filter(None, (self.upper(self.index), self.upper(self.index + 1))))
        if not self.takes("TYPE") and words.startswith(("SET", "COMMENT", "FIRST", "AFTER", "DROP")):
            self.refuse(f"ALTER COLUMN {name} can't {words} here", _FORMS)
        return SchemaChange("widen", name, self._type())

    def _made_nullable(self) -> SchemaChange:
        name = self._column()
        if self.takes("DROP") and not self.takes("NOT", "NULL"):
            self.refuse(f"ALTER COLUMN {name} DROP {self.text(self.index)} is not done here", _FORMS)
        return SchemaChange("nullable", name)

    def _option_set(self) -> SchemaChange:
        name = self._option()
        self.takes("=")
        token = self.tokens[self.index] if self.index < len(self.tokens) else None
        if token is None or token.kind == "symbol":
            self.refuse(f"The value of {name} is missing", "Write 'option' = 'value'.")
        self.index += 1
        return SchemaChange("set", name, token.value)

    def _option(self) -> str:
        if self.index < len(self.tokens) and self.tokens[self.index].kind == "string":
            return self._string()
        if not self.is_name(self.index):
            self.refuse("The name of an option is missing", "Write 'option' = 'value'.")
        start = self.index
        self.index += 1
        # Paimon's options have dashes in their names: snapshot.num-retained.min.
        while self.text(self.index) in (".", "-") and self.is_name(self.index + 1):
            self.index += 2
        return self.sql[self.tokens[start].start : self.tokens[self.index - 1].end].replace("`", "")

    def _column(self) -> str:
        if not self.is_name(self.index):
            self.refuse("The name of a column is missing", _FORMS)
        parts, behind = self.read_name(self.index)
        if len(parts) > 1:
            self.refuse(
                f"{'.'.join(parts)} is inside a column, and only whole columns are altered here",
                "Put a name with a dot in backticks.",
            )
        self.index = behind
        return parts[0]

    def _type(self) -> str:
        """The text of a type. Moves past it."""
        start, depth = self.index, 0
        while self.text(self.index) and self.upper(self.index) not in (_ENDS_TYPE if depth == 0 else ()):
            text = self.text(self.index)
            if depth == 0 and text in (",", ")"):
                break
            depth += (text in ("(", "<")) - (text in (")", ">")) - 2 * (text == ">>")
            self.index += 1
        if self.index == start:
            self.refuse("The column's type is missing", "Write ADD COLUMN c INT.")
        return self.sql[self.tokens[start].start : self.tokens[self.index - 1].end]

    def _string(self) -> str:
        if self.index >= len(self.tokens) or self.tokens[self.index].kind != "string":
            self.refuse("A text in quotes is missing", "Write it like 'this'.")
        self.index += 1
        return self.tokens[self.index - 1].value


def _name(text: str) -> str:
    if _PLAIN_NAME.fullmatch(text):
        return text
    return quoted(text)
