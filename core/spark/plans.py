"""What a parsed or optimised plan of Spark's says: whether it only reads, what it needs of each table.

Plans are JVM objects seen through py4j; a call costs 0.2 ms, so only what is needed is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from core.spark.native.conditions import Condition, conditions
from core.travel.tokens import keywords

# Statements that change nothing but this session. Whatever is not listed is taken to write.
_SESSION_COMMANDS = keywords(
    """CacheTable CacheTableAsSelect CreateTempViewUsing CreateVariable CreateViewCommand DescribeColumn
    DescribeFunction DescribeNamespace DescribeQueryCommand DescribeRelation DropVariable DropView
    ListFilesCommand ListJarsCommand RefreshTable RefreshTableCommand ResetCommand SetCatalogAndNamespace
    SetCatalogCommand SetCommand SetVariable ShowCatalogsCommand ShowColumns ShowCreateTable
    ShowCurrentNamespaceCommand ShowFunctions ShowNamespaces ShowNamespacesCommand ShowTableProperties
    ShowTables ShowViews UncacheTable"""
)
_STATEMENT_CLASSES = (
    "org.apache.spark.sql.catalyst.plans.logical.Command",
    "org.apache.spark.sql.catalyst.plans.logical.ParsedStatement",
)
# Nodes under which an INSERT can hide, and nodes that are a script or a statement made at run time.
_WRAPPERS = frozenset({"UnresolvedWith", "Union"})
_NOT_ONE_STATEMENT = frozenset({"CompoundBody", "UnresolvedExecuteImmediate", "ExecuteImmediateQuery"})
# What a column of one of our tables carries through a plan: which view it belongs to.
VIEW_KEY = "paimark.view"
_ID = re.compile(r"#(\d+)")


def simple_name(plan: Any) -> str:
    name: str = plan.getClass().getSimpleName()
    return name


def is_query(plan: Any, jvm: Any) -> bool:
    """Whether a parsed plan only computes rows."""
    return not any(
        _is_a(node, name, jvm) for node in _statement_nodes(plan) for name in _STATEMENT_CLASSES
    ) and (simple_name(plan) not in _NOT_ONE_STATEMENT)


def is_session_command(plan: Any) -> bool:
    """Whether a parsed plan that is no query changes nothing outside the session."""
    return simple_name(plan) in _SESSION_COMMANDS


def _statement_nodes(plan: Any) -> list[Any]:
    nodes = [plan]
    while simple_name(nodes[-1]) in _WRAPPERS:
        nodes.append(nodes[-1].children().apply(0))
    return nodes


def _is_a(plan: Any, class_name: str, jvm: Any) -> bool:
    return bool(jvm.java.lang.Class.forName(class_name).isInstance(plan))


@dataclass(slots=True)
class Needs:
    """What a statement needs of one view: columns by name, and rows of each reader at most (None: all).

    Rows that do not satisfy all the `conditions` are not needed. `again`: the view is more than once in the
    plan, as a common table expression that is used twice is.
    """

    columns: set[str] = field(default_factory=set)
    limit: int | None = None
    conditions: tuple[Condition, ...] = ()
    again: bool = False


def needs(optimized: Any, limit: int | None) -> dict[str, Needs]:
    """What an optimised plan reads of each of our views, when only `limit` of its rows are wanted.

    Only what certainly isn't needed is left out: past a node not known here all columns count.
    """
    found: dict[str, Needs] = {}
    _walk(optimized, None, limit, found)
    subqueries = optimized.subqueriesAll()
    for index in range(subqueries.size()):
        _walk(subqueries.apply(index), None, None, found)
    return found


def _walk(
    node: Any,
    wanted: frozenset[str] | None,
    limit: int | None,
    found: dict[str, Needs],
    filtered: Any = None,
) -> None:
    """`wanted` are ids of the node's output columns that are used, None for all.

    `filtered` is the condition of the filter right above.
    """
    children = node.children()
    count = children.size()
    if not count:
        _leaf(node, wanted, limit, found, filtered)
        return
    kind = simple_name(node)
    below: frozenset[str] | None = None
    if kind in ("Project", "Aggregate"):
        below = _references(node)
    elif kind in ("Filter", "Sort", "Join", "Window", "GlobalLimit", "LocalLimit") and wanted is not None:
        below = wanted | _references(node)
    if kind in ("GlobalLimit", "LocalLimit"):
        rows = literal_limit(node)
        limit = rows if limit is None or (rows is not None and rows < limit) else limit
    elif kind != "Project":
        limit = None
    filtered = node.condition() if kind == "Filter" else None
    for index in range(count):
        _walk(children.apply(index), below, limit, found, filtered)


def _references(node: Any) -> frozenset[str]:
    # As text in one call; a name that holds `#5` only makes one column too many.
    return frozenset(_ID.findall(node.references().toString()))


def _leaf(
    leaf: Any, wanted: frozenset[str] | None, limit: int | None, found: dict[str, Needs], filtered: Any
) -> None:
    output = leaf.output()
    names: dict[int, str] = {}
    needed: Needs | None = None
    is_again = False
    for index in range(output.size()):
        column = output.apply(index)
        view = msgspec.json.decode(column.metadata().json()).get(VIEW_KEY)
        if view is None:
            return
        if needed is None:
            is_again = view in found
            needed = found.setdefault(view, Needs(limit=limit))
        number = int(column.exprId().id())
        names[number] = column.name()
        if wanted is None or str(number) in wanted:
            needed.columns.add(names[number])
    if needed is None:
        return
    if needed.limit is not None:
        needed.limit = None if limit is None else max(limit, needed.limit)
    needed.again = is_again
    stated = () if filtered is None else conditions(filtered.toJSON(), names)
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
