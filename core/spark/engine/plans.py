"""What a parsed or optimised plan of Spark's says: whether it only reads, what it needs of each table.

Plans are JVM objects seen through py4j; a call costs 0.2 ms, so only what is needed is asked, and of an
optimised plan all at once: `native/Plans.java` says what there is to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

from core.spark.native.compiled import compiled, new_instance
from core.spark.native.conditions import conditions
from core.spark.native.needs import Asked, ViewNeeds
from core.spark.native.summaries.frames import classes
from core.travel.parse.tokens import keywords

# Statements that change nothing but this session. Whatever is not listed is taken to write.
_SESSION_COMMANDS = keywords(
    """CacheTable CacheTableAsSelect CreateTempViewUsing CreateVariable CreateViewCommand DescribeColumn
    DescribeFunction DescribeNamespace DescribeQueryCommand DescribeRelation DropVariable DropView
    ListFilesCommand ListJarsCommand RefreshTable RefreshTableCommand ResetCommand SetCatalogAndNamespace
    SetCatalogCommand SetCommand SetVariable ShowCatalogsCommand ShowColumns ShowCreateTable
    ShowCurrentNamespaceCommand ShowFunctions ShowNamespaces ShowNamespacesCommand ShowTableProperties
    ShowTables ShowViews UncacheTable"""
)
# Nodes under which an INSERT can hide, and nodes that are a script or a statement made at run time.
_WRAPPERS = frozenset({"UnresolvedWith", "Union"})
_NOT_ONE_STATEMENT = frozenset({"CompoundBody", "UnresolvedExecuteImmediate", "ExecuteImmediateQuery"})
# What a column of one of our tables carries through a plan: which view it belongs to.
VIEW_KEY = "paimark.view"


class Node(msgspec.Struct, frozen=True):
    """A node of an optimised plan. `references` are ids of columns that it uses itself.

    `limit` is a limit's expression, `condition` (an expression as JSON) that of a filter right above a table.
    `asked` is that of an aggregate with nothing but filters and projections between it and a table.
    A table is a leaf with the `place` of one of our views, and with its `columns` as pairs of id and name.
    """

    kind: str
    references: tuple[int, ...] = ()
    children: tuple[Node, ...] = ()
    limit: str = ""
    condition: str | None = None
    asked: Asked | None = None
    place: str | None = None
    columns: tuple[tuple[int, str], ...] = ()


_described = msgspec.json.Decoder(tuple[Node, ...])


class Plans:
    """Asks `native/Plans.java`, which is compiled when first asked."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def is_query(self, plan: Any) -> bool:
        """Whether a parsed plan only computes rows."""
        name, nodes = simple_name(plan), [plan]
        if name in _NOT_ONE_STATEMENT:
            return False
        while name in _WRAPPERS:
            nodes.append(nodes[-1].children().apply(0))
            name = simple_name(nodes[-1])
        return not any(map(self._java.isStatement, nodes))

    def explained(self, sql: str) -> Any | None:
        """The parsed EXPLAIN of a query, None for that of something else."""
        plan = self._session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        is_of_query = simple_name(plan) == "ExplainCommand" and self.is_query(plan.logicalPlan())
        return plan if is_of_query else None

    def frame(self, plan: Any) -> DataFrame:
        return DataFrame(self._java.frame(self._session._jsparkSession, plan), self._session)

    def needs(self, frame: DataFrame, limit: int | None) -> dict[str, ViewNeeds]:
        """What it reads of each of our views, when only `limit` of its rows are wanted."""
        plan = frame._jdf.queryExecution().optimizedPlan()
        return needs(_described.decode(self._java.described(plan)), limit)

    def with_tables(self, frame: DataFrame, tables: Mapping[str, DataFrame]) -> DataFrame:
        """The frame with these, by place, where stand-ins of theirs are. What it needs stays the same."""
        replaced = self._java.withTables(frame._jdf, {place: table._jdf for place, table in tables.items()})
        return DataFrame(replaced, self._session)

    @cached_property
    def _java(self) -> Any:
        return new_instance(
            self._session,
            "Plans",
            VIEW_KEY,
            compiler=compiled(self._session, "Plans", classes(self._session)),
        )


def simple_name(plan: Any) -> str:
    name: str = plan.getClass().getSimpleName()
    return name


def is_session_command(plan: Any) -> bool:
    """Whether a parsed plan that is no query changes nothing outside the session."""
    return simple_name(plan) in _SESSION_COMMANDS


def needs(plans: Sequence[Node], limit: int | None) -> dict[str, ViewNeeds]:
    """What a plan, the first, reads of each of our views when only `limit` of its rows are wanted.

    The others are its subqueries. Only what certainly isn't needed is left out: past a node not known here
    all columns count.
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
    asked: Asked | None = None,
) -> None:
    """`wanted` are ids of the node's output columns that are used, None for all.

    `condition` is that of the filter right above, `asked` that of the aggregate above.
    """
    if node.place is not None:
        _leaf(node, node.place, wanted, limit, by_place, condition, asked)
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
        _walk(child, below, limit, by_place, node.condition, node.asked or asked)


def _leaf(
    leaf: Node,
    place: str,
    wanted: frozenset[int] | None,
    limit: int | None,
    by_place: dict[str, ViewNeeds],
    condition: str | None,
    asked: Asked | None,
) -> None:
    is_again = place in by_place
    needed = by_place.setdefault(place, ViewNeeds(limit=limit, asked=asked))
    needed.asked = needed.asked.and_(asked) if needed.asked is not None and asked is not None else None
    needed.columns.update(name for number, name in leaf.columns if wanted is None or number in wanted)
    if needed.limit is not None:
        needed.limit = None if limit is None else max(limit, needed.limit)
    needed.again = is_again
    stated = () if condition is None else conditions(condition, dict(leaf.columns))
    needed.conditions = tuple(each for each in stated if not is_again or each in needed.conditions)


def literal_limit(node: Any) -> int | None:
    """The number of a `GlobalLimit` or `LocalLimit`; None when it is an expression."""
    text = node.limitExpr().toString()
    return int(text) if text.isdigit() else None


def without_limit(analyzed: Any) -> tuple[Any, int] | None:
    """The plan under a LIMIT at the very top and its number; None when there is none or it sorts.

    Spark would start a task for every partition and throw away most of what they read.
    """
    if simple_name(analyzed) != "GlobalLimit" or (rows := literal_limit(analyzed)) is None:
        return None
    local = analyzed.child()
    if simple_name(local) != "LocalLimit" or is_sorted(local.child()):
        return None
    return local.child(), rows


def is_sorted(plan: Any) -> bool:
    """Whether the rows come in an order that was asked for."""
    while simple_name(plan) in ("Project", "SubqueryAlias"):
        plan = plan.child()
    return simple_name(plan) == "Sort"
