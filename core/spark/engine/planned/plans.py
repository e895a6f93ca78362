"""What Java tells of a statement: its tables, whether it changes only the session, its need of each table.

The plans are Java objects; `scans/Plans.java` describes them to Python. `clauses/Uses.java` finds the tables
and their clauses as Spark's parser has them, in one call. Python resolves them, and pins each table to the
name of its state: then Spark parses the same text to a plan with these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.spark.native.conditions import SummaryColumns, ViewNeeds, conditions
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


class Node(msgspec.Struct, frozen=True):
    """A node of an optimised plan. `references` are the ids of columns that it uses itself.

    `limit` is the expression of a limit, `condition` (an expression as JSON) that of a filter directly above
    a table. `summary_columns` belongs to an aggregate that has only filters and projections between it and
    a table. A table is a leaf with the `place` of one of our views, and its `columns` as pairs (id, name).
    """

    kind: str
    references: tuple[int, ...] = ()
    children: tuple[Node, ...] = ()
    limit: str = ""
    condition: str | None = None
    summary_columns: SummaryColumns | None = None
    place: str | None = None
    columns: tuple[tuple[int, str], ...] = ()


def is_session_command(kind: str) -> bool:
    """Whether a parsed plan of that class, which is not a query, changes nothing outside the session."""
    return kind in _SESSION_COMMANDS


def needs(plans: Sequence[Node], limit: int | None) -> dict[str, ViewNeeds]:
    """What the first plan needs of each of our views if only `limit` of its rows are wanted.

    The other plans are its subqueries. Only columns that are certainly not needed are left out: below an
    unknown kind of node all columns are needed.
    """
    by_place: dict[str, ViewNeeds] = {}
    for plan in plans:
        _walk(plan, None, limit, by_place)
        limit = None
    return by_place


def _walk(
    node: Node,
    wanted: frozenset[int] | None,
    limit: int | None,
    by_place: dict[str, ViewNeeds],
    condition: str | None = None,
    summary_columns: SummaryColumns | None = None,
) -> None:
    """`wanted` are the ids of the node's output columns that are used, None for all.

    `condition` is that of the filter directly above, `summary_columns` that of the aggregate above.
    """
    if node.place is not None:
        _leaf(node, node.place, wanted, limit, by_place, condition, summary_columns)
        return
    below: frozenset[int] | None = None
    if node.kind in ("Project", "Aggregate"):
        below = frozenset(node.references)
    elif (
        node.kind in ("Filter", "Sort", "Join", "Window", "GlobalLimit", "LocalLimit") and wanted is not None
    ):
        below = wanted.union(node.references)
    if node.kind in ("GlobalLimit", "LocalLimit"):
        rows = int(node.limit) if node.limit.isdigit() else None
        limit = rows if limit is None or (rows is not None and rows < limit) else limit
    elif node.kind != "Project":
        limit = None
    for child in node.children:
        _walk(child, below, limit, by_place, node.condition, node.summary_columns or summary_columns)


def _leaf(
    leaf: Node,
    place: str,
    wanted: frozenset[int] | None,
    limit: int | None,
    by_place: dict[str, ViewNeeds],
    condition: str | None,
    summary_columns: SummaryColumns | None,
) -> None:
    is_again = place in by_place
    needed = by_place.setdefault(place, ViewNeeds(limit=limit, summary_columns=summary_columns))
    needed.summary_columns = (
        needed.summary_columns.and_(summary_columns)
        if needed.summary_columns is not None and summary_columns is not None
        else None
    )
    needed.columns.update(name for number, name in leaf.columns if wanted is None or number in wanted)
    if needed.limit is not None:
        needed.limit = None if limit is None else max(limit, needed.limit)
    stated = () if condition is None else conditions(condition, dict(leaf.columns))
    needed.conditions = tuple(each for each in stated if not is_again or each in needed.conditions)


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
