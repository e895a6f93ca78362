"""The tables of a plain query, found without Spark: those of which nothing is in doubt, and no others."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.travel.parse.cursor import TokenCursor
from paimark.core.travel.parse.uses import Clause, Statement, TableUse

_QUALIFIED = 2


def plain_uses(statement: Statement) -> Iterator[TableUse]:
    """The tables behind FROM and JOIN outside parentheses, with a database, a `$` or a clause.

    A name alone may be that of a view. A time is left to Spark.
    """
    cursor, depth = TokenCursor.of(statement), 0
    if statement.kind != "query" or cursor.upper(0) != "SELECT":
        return
    for index, token in enumerate(statement.tokens):
        depth += (token.text == "(") - (token.text == ")")
        is_distinct_from = cursor.upper(index - 1) == "DISTINCT"
        if depth or token.upper not in ("FROM", "JOIN") or is_distinct_from or not cursor.is_name(index + 1):
            continue
        parts, behind = cursor.read_name(index + 1)
        is_past = cursor.is_clause(behind)
        is_known = len(parts) == _QUALIFIED or "$" in parts[0] or is_past
        if not is_known or cursor.text(behind) in ("(", "/*+"):
            continue
        start, end = statement.tokens[index + 1].start, statement.tokens[behind - 1].end
        cursor.index = behind + (cursor.upper(behind) == "FOR")
        version = None
        if cursor.takes("VERSION", "AS", "OF") or cursor.takes("SYSTEM_VERSION", "AS", "OF"):
            behind_of = statement.tokens[cursor.index : cursor.index + 1]
            version = next((each.value for each in behind_of if each.kind in ("number", "string")), None)
        yield TableUse(parts, start, end, Clause("", end, end, version) if is_past else None)
