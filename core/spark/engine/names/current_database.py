"""Answer `current_database()` and `current_schema()`: Spark has none of our databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paimark.core.quoting import literal, quoted
from paimark.core.travel.parse.splice import Edit, Spliced
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.parse.uses import Statement

_FUNCTIONS = keywords("CURRENT_DATABASE CURRENT_SCHEMA")
_BEHIND_ITEM = keywords("FROM WHERE GROUP HAVING ORDER LIMIT UNION EXCEPT INTERSECT")
_NO_ITEMS = keywords("FROM WHERE GROUP HAVING ORDER BY ON USING VALUES WITH")
_CALL = 3


def with_current_database(spliced: Spliced, statement: Statement, database: str | None) -> Spliced:
    """The spliced statement with the database's name in place of the calls; NULL if none was chosen."""
    edits = [*spliced.edits, *_edits(statement.tokens, database)]
    if len(edits) == len(spliced.edits):
        return spliced
    return Spliced.of(statement.sql, sorted(edits, key=lambda edit: edit.start))


def _edits(tokens: Sequence[Token], database: str | None) -> Iterator[Edit]:
    value = "CAST(NULL AS STRING)" if database is None else literal(database)
    for index, token in enumerate(tokens):
        call = [each.text for each in tokens[index + 1 : index + _CALL]]
        if token.upper not in _FUNCTIONS or call != ["(", ")"] or tokens[index - 1].text == ".":
            continue
        # As Spark names the column of such a call.
        name = f" AS {quoted(f'{token.text.lower()}()')}" if _is_item(tokens, index) else ""
        yield Edit(token.start, tokens[index + _CALL - 1].end, value + name)


def _is_item(tokens: Sequence[Token], index: int) -> bool:
    """Whether the call is a column of a SELECT, and has no alias."""
    after = tokens[index + _CALL] if index + _CALL < len(tokens) else None
    is_end = after is None or after.text in (",", ")") or after.upper in _BEHIND_ITEM
    return is_end and _is_in_select_list(tokens[:index])


def _is_in_select_list(before: Sequence[Token]) -> bool:
    if before[-1:] and before[-1].text != "," and before[-1].upper not in ("SELECT", "DISTINCT", "ALL"):
        return False
    depth = 0
    for token in reversed(before):
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0 or (depth == 0 and token.upper in _NO_ITEMS):
            return False
        if depth == 0 and token.upper == "SELECT":
            return True
    return False
