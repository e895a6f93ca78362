"""Refuse, by name, the parts of a statement that Spark would not do as they are written."""

from __future__ import annotations

from itertools import pairwise

from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.core.travel.parse.cursor import TokenCursor
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.shows import ENGINE_VIEWS, created_view

_JAVA_CALLS = keywords("java_method reflect try_reflect")
_OF_FILES = keywords("input_file_name input_file_block_start input_file_block_length")
_DETAILS = keywords("EXTENDED FORMATTED")
_QUERIES = keywords("SELECT WITH FROM VALUES MAP REDUCE")
_OTHER_OBJECTS = keywords("FUNCTION DATABASE SCHEMA NAMESPACE CATALOG PROCEDURE QUERY")
# Symbols directly before a colon that takes a field out of a value: `column:field`.
_VALUE_ENDS = keywords(") ]")
_DETAILS_HINT = "DESCRIBE db.t lists the columns, SHOW CREATE TABLE db.t has the keys and options too."


def require_supported(statement: Statement) -> None:
    """Raises `SqlRefused`, with its position, for the first such part."""
    _require_known_session(statement)
    _require_no_catalog(statement)
    _require_known_show(statement)
    _require_plain_describe(statement)
    _require_own_view(statement)
    for index in range(len(statement.tokens)):
        _require_known(statement, index)


def _require_known_session(statement: Statement) -> None:
    cursor = TokenCursor.of(statement)
    if cursor.takes("SET", "CATALOG"):
        raise statement.refused(
            "SET CATALOG is not supported here",
            "USE db chooses a database of the warehouse.",
            statement.tokens[0].start,
        )
    if (cursor.takes("SET") or cursor.takes("RESET")) and cursor.upper(cursor.index) == "PAIMARK":
        start = cursor.position
        name = statement.sql[start : statement.tokens[-1].end].partition("=")[0].strip()
        raise statement.refused(f"There is no setting {name}", f"It may be spark.{name}.", start)


def _require_no_catalog(statement: Statement) -> None:
    """Refuse DESCRIBE CATALOG: Spark has a catalog of its own, and takes another's name for a column's."""
    cursor = TokenCursor.of(statement)
    if not (cursor.takes("DESCRIBE") or cursor.takes("DESC")) or not cursor.takes("CATALOG"):
        return
    if cursor.is_name(cursor.index):
        raise statement.refused(
            "DESCRIBE CATALOG is not supported here",
            "DESCRIBE DATABASE db describes a database of the warehouse.",
            statement.tokens[0].start,
        )


def _require_known_show(statement: Statement) -> None:
    cursor = TokenCursor.of(statement)
    if cursor.takes("SHOW") and (name := cursor.upper(1).lower()) in SYSTEM_TABLES and name != "schemas":
        raise statement.refused(
            f"SHOW {name.upper()} is not supported here",
            f"SELECT * FROM db.`t${name}` lists them.",
            statement.tokens[0].start,
        )


def _require_plain_describe(statement: Statement) -> None:
    """Refuse what `DESCRIBE t` can't have behind or before the name: Spark knows only a table's columns."""
    cursor = TokenCursor.of(statement)
    if not (cursor.takes("DESCRIBE") or cursor.takes("DESC")):
        return
    if cursor.upper(cursor.index) in _OTHER_OBJECTS and cursor.is_name(cursor.index + 1):
        return
    cursor.takes("TABLE")
    word, position = cursor.upper(cursor.index), cursor.position
    if word in _DETAILS and cursor.is_name(cursor.index + 1):
        raise statement.refused(f"DESCRIBE {word} is not supported here", _DETAILS_HINT, position)
    if not cursor.is_name(cursor.index) or word in _QUERIES:
        return
    _, cursor.index = cursor.read_name(cursor.index)
    behind = statement.tokens[cursor.index :]
    if behind and behind[0].upper == "PARTITION":
        hint = "SHOW PARTITIONS db.t lists the partitions, SELECT * FROM db.`t$files` their files."
        raise statement.refused("DESCRIBE ... PARTITION is not supported here", hint, behind[0].start)
    if [token.upper for token in behind[-2:]] == ["AS", "JSON"]:
        raise statement.refused("DESCRIBE ... AS JSON is not supported here", _DETAILS_HINT, behind[-2].start)


def _require_own_view(statement: Statement) -> None:
    """Refuse a view with a name that the engine gives its own: a later statement would replace it."""
    view = created_view(statement)
    if view is not None and view.parts[-1].lower().startswith(ENGINE_VIEWS):
        raise statement.refused(
            f"{view.parts[-1]} is kept for Paimark's own views", "Choose another name.", view.position
        )


def _require_known(statement: Statement, index: int) -> None:
    """Refuse a parameter, a computed name, or a call that would end Spark, if it begins at this token."""
    tokens, token = statement.tokens, statement.tokens[index]
    follower = tokens[index + 1] if index + 1 < len(tokens) else None
    if follower is None or follower.text != "(" or not token.is_name:
        if (written := _parameter(token, tokens[index - 1] if index else None, follower)) is not None:
            raise statement.refused(
                f"{written} is a parameter, and there are no values for parameters here",
                "Write the value itself.",
                token.start,
            )
    elif token.upper == "IDENTIFIER":
        raise statement.refused(
            "IDENTIFIER(...) is not supported here", "Write the name itself.", token.start
        )
    elif token.value.lower() in _JAVA_CALLS and _second_argument(tokens[index + 2 : index + 5]) == "exit":
        raise statement.refused(
            f"{token.value} can't call exit: it would end Spark", "Leave it out.", token.start
        )


def require_rows_of_files(statement: Statement) -> None:
    """Raises `SqlRefused` for a function that names the file of a row: tables have other files."""
    for token, follower in pairwise(statement.tokens):
        if follower.text == "(" and token.is_name and token.value.lower() in _OF_FILES:
            raise statement.refused(
                f"{token.value}() is not supported here",
                "SELECT * FROM db.`t$files` lists the files of a table.",
                token.start,
            )


def _parameter(token: Token, before: Token | None, follower: Token | None) -> str | None:
    """A parameter as it is written: `?`, or the `:name` that begins here; None if there is none."""
    if token.text == "?":
        # `value?::type` is a cast.
        return None if follower is not None and follower.text == "::" else "?"
    if token.text != ":" or follower is None or not follower.is_name or follower.start != token.end:
        return None
    ends_value = before is not None and (
        before.is_name or before.kind == "string" or before.text in _VALUE_ENDS
    )
    touches = before is not None and before.end == token.start
    return None if ends_value and touches else f":{follower.text}"


def _second_argument(tokens: tuple[Token, ...]) -> str:
    """The text of the second of two literals: `'java.lang.System', 'exit'`."""
    is_pair = [token.kind for token in tokens] == ["string", "symbol", "string"]
    return tokens[2].value.strip() if is_pair else ""
