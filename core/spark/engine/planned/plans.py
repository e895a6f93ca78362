"""What Java tells of a statement: its tables, and whether it changes only the session.

`clauses/Uses.java` finds the tables and their clauses as Spark's parser has them, in one call. Python
resolves them, and pins each table to the name of its state: then Spark parses the same text to a plan with
these names.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.travel.parse.statement import SqlRefused, TableUse
from paimark.core.travel.parse.tokens import keywords

# Statements that change only this session. All others count as writing.
_SESSION_COMMANDS = keywords(
    """CacheTable CacheTableAsSelect CreateTempViewUsing CreateVariable CreateViewCommand DescribeColumn
    DescribeFunction DescribeNamespace DescribeQueryCommand DescribeRelation DropVariable DropView
    ListFilesCommand ListJarsCommand RefreshTable RefreshTableCommand ResetCommand SetCatalogAndNamespace
    SetCatalogCommand SetCommand SetVariable ShowCatalogsCommand ShowColumns ShowCreateTable
    ShowCurrentNamespaceCommand ShowFunctions ShowNamespaces ShowNamespacesCommand ShowTableProperties
    ShowTables ShowViews UncacheTable"""
)
# The metadata key with which columns of our tables name their view, throughout a plan.
VIEW_KEY = "paimark.view"


def is_session_command(kind: str) -> bool:
    """Whether a parsed plan of that class, which is not a query, changes nothing outside the session."""
    return kind in _SESSION_COMMANDS


class _Answer(msgspec.Struct):
    uses: tuple[TableUse, ...] = ()
    fault: tuple[str, str, int] | None = None


_decoder = msgspec.json.Decoder(_Answer)


def read_uses(sql: str, answer: str) -> tuple[TableUse, ...]:
    """The tables in the answer of `Uses.java`. Raises `SqlRefused` for a clause that is not obeyed."""
    found = _decoder.decode(answer)
    if found.fault is not None:
        reason, hint, position = found.fault
        raise SqlRefused(reason, hint, sql, position)
    return found.uses


def pins(sql: str, states: Iterable[tuple[str, TableUse]], database: str | None) -> str:
    """What pins the tables of `sql` to the names of their `states`, as `ClauseParser.java` takes it."""
    made = []
    for name, use in states:
        within = use.database if use.key else database
        parts = use.parts if len(use.parts) > 1 or not within else (within, *use.parts)
        made.append((use.key or sql, use.at, (CATALOG_NAME, *parts, name)))
    return msgspec.json.encode(made).decode()
