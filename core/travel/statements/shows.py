"""Parse statements for which Spark gives no plan: `SHOW COLUMNS IN t` and the like, and views being made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from paimark.core.travel.parse.statement import Statement, TokenCursor

ShowKind = Literal["columns", "properties", "create", "partitions"]
_HEADS: tuple[tuple[tuple[str, ...], ShowKind], ...] = (
    (("SHOW", "COLUMNS"), "columns"),
    (("SHOW", "TBLPROPERTIES"), "properties"),
    (("SHOW", "CREATE", "TABLE"), "create"),
    (("SHOW", "PARTITIONS"), "partitions"),
)
# Spark's database of the views that all sessions see.
GLOBAL_VIEWS = "global_temp"
# The names of the engine's own views and tables begin so.
ENGINE_VIEWS = "__paimark_"
# The hint for each verb.
_KEEPING = {
    "REFRESH": "Leave it out.",
    "CACHE": "Keep the rows of a query: CACHE TABLE kept AS SELECT * FROM {name}.",
    "UNCACHE": "Leave it out.",
}
_END = "The statement ends with the table's name."
_SOME = f"{_END} SELECT DISTINCT day FROM db.t WHERE day > '2026-05-01' lists some of the values of a column."


@dataclass(frozen=True, slots=True)
class Show:
    """`parts` is the table's name as written, `position` its offset, `key` the requested property."""

    kind: ShowKind
    parts: tuple[str, ...]
    position: int
    key: str | None = None


def read_show(statement: Statement) -> Show | None:
    """Parse a SHOW; None for another statement. Raises `SqlRefused` if words are missing or too many."""
    cursor = TokenCursor.of(statement)
    for words, kind in _HEADS:
        if cursor.takes(*words):
            return _table(cursor, kind)
    return None


def only_shows(statement: Statement) -> bool:
    """Whether a session statement only reads: SET without a value, LIST."""
    cursor = TokenCursor.of(statement)
    if cursor.takes("LIST"):
        return True
    is_change = any(token.text == "=" for token in cursor.tokens)
    names_what = cursor.upper(1) in ("TIME", "VAR", "VARIABLE")
    return cursor.takes("SET") and not is_change and not names_what


class NewView(NamedTuple):
    """`keeps_old`: IF NOT EXISTS was written. `parts` begins with `global_temp` if all sessions see it.

    `position` is that of the name.
    """

    parts: tuple[str, ...]
    keeps_old: bool
    position: int


def created_view(statement: Statement) -> NewView | None:
    """The temporary view that a statement creates from a query; None for any other statement."""
    cursor, is_global = TokenCursor.of(statement), False
    if cursor.takes("CACHE"):
        cursor.takes("LAZY")
        is_one = cursor.takes("TABLE")
    else:
        is_one = cursor.takes("CREATE")
        while (word := cursor.upper(cursor.index)) in ("OR", "REPLACE", "GLOBAL", "TEMP", "TEMPORARY"):
            is_global = is_global or word == "GLOBAL"
            cursor.index += 1
        is_one = is_one and cursor.takes("VIEW")
    if not is_one:
        return None
    keeps_old = cursor.takes("IF", "NOT", "EXISTS")
    if not cursor.is_name(cursor.index):
        return None
    position = cursor.position
    parts, cursor.index = cursor.read_name(cursor.index)
    return NewView((*((GLOBAL_VIEWS,) if is_global else ()), parts[-1]), keeps_old, position)


def require_view(
    statement: Statement, is_view: Callable[[tuple[str, ...]], bool], *, reads_tables: bool
) -> None:
    """Raises `SqlRefused` for REFRESH, CACHE or UNCACHE of a table: only rows of a query can be kept.

    Also for CACHE of a view that `reads_tables`.
    """
    cursor, tokens = TokenCursor.of(statement), statement.tokens
    verb = next((each for each in _KEEPING if cursor.takes(each)), None)
    cursor.takes("LAZY")
    if verb is None or not cursor.takes("TABLE") or not cursor.is_name(cursor.index):
        return
    position = cursor.position
    parts, cursor.index = cursor.read_name(cursor.index)
    name = statement.sql[position : tokens[cursor.index - 1].end]
    if cursor.takes("OPTIONS"):
        cursor.index = cursor.parenthesis_end(cursor.index)
    # The query of a new view follows.
    if cursor.index < len(tokens) or (is_view(parts) and not (verb == "CACHE" and reads_tables)):
        return
    reason = f"{verb} TABLE is of no use on {name}: each statement reads tables as they are then"
    raise statement.refused(reason, _KEEPING[verb].format(name=name), position)


def _table(cursor: TokenCursor, kind: ShowKind) -> Show:
    if kind == "columns" and not (cursor.takes("IN") or cursor.takes("FROM")):
        cursor.refuse("IN must follow SHOW COLUMNS", "Write SHOW COLUMNS IN db.t.")
    position = cursor.position
    if not cursor.is_name(cursor.index):
        cursor.refuse("The name of the table is missing", "Write it as database.table.")
    parts, cursor.index = cursor.read_name(cursor.index)
    key = None
    if kind == "columns" and (cursor.takes("IN") or cursor.takes("FROM")):
        database, cursor.index = cursor.read_name(cursor.index)
        parts = (*database, parts[-1])
    elif kind == "properties" and cursor.takes("("):
        key = _key(cursor)
    if cursor.index < len(cursor.tokens):
        is_some = kind == "partitions" and cursor.upper(cursor.index) == "PARTITION"
        cursor.refuse(f"{cursor.text(cursor.index)} can't follow here", _SOME if is_some else _END)
    return Show(kind, parts, position, key)


def _key(cursor: TokenCursor) -> str:
    """Read a key up to the parenthesis: a quoted text, or words with dots and dashes."""
    begin = cursor.index
    while cursor.text(cursor.index) not in (")", ""):
        cursor.index += 1
    tokens = cursor.tokens[begin : cursor.index]
    if not tokens or not cursor.takes(")"):
        cursor.refuse("The name of a property is missing", "Write SHOW TBLPROPERTIES db.t ('bucket').")
    return tokens[0].value if len(tokens) == 1 else cursor.sql[tokens[0].start : tokens[-1].end]
