"""The temporary views that statements leave in their session, and the refusal to change one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimark.core.errors import PaimarkError
from paimark.core.figures import listed
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import Statement, TokenCursor
from paimark.core.travel.resolving import plain_uses
from paimark.core.travel.statements.inserts import COMMANDS, read_change, read_insert
from paimark.core.travel.statements.shows import created_view

# By the name in small letters, with parts: the tables that the view reads, as far as its text tells.
Views = Mapping[tuple[str, ...], tuple[str, ...]]


def views_after(views: Views, statement: Statement) -> Views:
    """The views of a session in which the statement has run."""
    if (made := created_view(statement)) is not None:
        name = _key(made.parts)
        return views if made.keeps_old and name in views else {**views, name: _tables(statement)}
    cursor = TokenCursor.of(statement)
    if not cursor.takes("DROP", "VIEW"):
        return views
    cursor.takes("IF", "EXISTS")
    gone = _key(cursor.read_name(cursor.index)[0]) if cursor.is_name(cursor.index) else ()
    return {name: tables for name, tables in views.items() if name != gone}


def require_no_view(statement: Statement, views: Views) -> None:
    """Raises `SqlRefused` for an INSERT, DELETE, UPDATE or MERGE of one of the views."""
    if not views:
        return
    if statement.kind in ("insert", "overwrite"):
        insert = read_insert(statement)
        parts, position = insert.parts, insert.table_position
    elif statement.kind in COMMANDS:
        change = read_change(statement)
        parts, position = change.parts, change.table_position
    else:
        return
    if (tables := views.get(_key(parts))) is not None:
        hint = f"Change {listed(tables)}, which it reads." if tables else "Change the table that it reads."
        name = ".".join(parts)
        raise statement.refused(f"{name} is a temporary view, and a view can't be changed", hint, position)


def _key(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def _tables(statement: Statement) -> tuple[str, ...]:
    """The tables behind FROM and JOIN of a view's query that are named with their database."""
    start = next((token.end for token in statement.tokens if token.upper == "AS"), len(statement.sql))
    try:
        uses = [*plain_uses(read_statement(statement.sql[start:]))]
    except PaimarkError:
        return ()
    return tuple(dict.fromkeys(".".join(use.parts) for use in uses))
