"""Parse CREATE DATABASE and DROP DATABASE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from paimark.core.travel.parse.cursor import TokenCursor
from paimark.core.travel.parse.uses import Statement

_WORDS = ("DATABASE", "SCHEMA", "NAMESPACE")
_BEHIND = {
    "CASCADE": (
        "DROP DATABASE ... CASCADE is not done here",
        "DROP TABLE moves each table to the trash, and delete_dropped deletes it for good.",
    ),
    "COMMENT": ("A database has no comment here", "Leave it out."),
    "LOCATION": ("A database lies in the warehouse: LOCATION has no effect", "Leave it out."),
    "WITH": ("A database has no properties here", "Leave them out."),
}


@dataclass(frozen=True, slots=True)
class DatabaseStatement:
    """With `is_lenient`, IF EXISTS or IF NOT EXISTS, one that is as wanted is no error."""

    kind: Literal["create", "drop"]
    name: str
    position: int
    is_lenient: bool


def is_of_database(statement: Statement) -> bool:
    """Whether it is one of these statements, by its first words."""
    return _taken(TokenCursor.of(statement)) is not None


def read_database_statement(statement: Statement) -> DatabaseStatement:
    """Raises `SqlRefused`, with its position, for a form that is not supported."""
    cursor = TokenCursor.of(statement)
    kind = _taken(cursor)
    assert kind is not None
    is_lenient = cursor.takes(*(("IF", "NOT", "EXISTS") if kind == "create" else ("IF", "EXISTS")))
    position = cursor.position
    if not cursor.is_name(cursor.index):
        cursor.refuse("The name of the database is missing", "Write CREATE DATABASE shop.")
    parts, cursor.index = cursor.read_name(cursor.index)
    if len(parts) > 1:
        raise statement.refused("The name of a database has no dots", "Choose another one.", position)
    if kind == "drop":
        cursor.takes("RESTRICT")
    if word := cursor.text(cursor.index):
        known = _BEHIND.get(cursor.upper(cursor.index))
        cursor.refuse(*(known or (f"{word} can't follow here", "The statement ends with the name.")))
    return DatabaseStatement(kind, parts[0], position, is_lenient)


def _taken(cursor: TokenCursor) -> Literal["create", "drop"] | None:
    for word in _WORDS:
        if cursor.takes("CREATE", word):
            return "create"
        if cursor.takes("DROP", word):
            return "drop"
    return None
