"""`analyze`: compute statistics of a table and its columns, by which other engines choose their plans.

Like stock Spark's `ANALYZE TABLE` it is one commit of statistics, which takes no lock and no journal.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import fingerprint, require_allowed, require_unmoved, text_argument
from paimark.core.actions.compaction.compact import NO_UNDO, committed, finished
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item, Outcome, Plan, Step
from paimark.core.actions.plan_wording import nothing_lost
from paimark.core.actions.rewrite.spark_rewrite import writing_refusals
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.figures import size as file_size
from paimark.core.figures import some_of
from paimark.core.quoting import quoted
from paimark.core.spark.protocol import Analyze, Version
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.column_types import BYTES, NUMBERS, TEXTS, TIMES, ColumnType
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import size_of
from paimark.core.table.names import near_names
from paimark.core.table.operations import ANALYSIS
from paimark.core.table.records import SchemaField, TableSchema
from paimark.core.travel.parse.statement import TokenCursor
from paimark.core.travel.parse.tokens import tokenize

_TABLE = "analyzed"
_ALL = "*"
_ORDERED = (*NUMBERS, *TIMES, "BOOLEAN", "DATE")
# Spark's sizes of values, in bytes.
_SIZES = {"TINYINT": 1, "BOOLEAN": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4}


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `columns` (names with commas between them, `*` for all), `branch` (main when None).

    Without columns only the rows are counted. Raises `NotFound` for a column that does not exist.
    """
    seen = _seen(context.files, table, arguments)
    asked: dict[str, str | int | bool | None] = {
        name: text_argument(arguments, name) for name in ("columns", "branch")
    }
    if seen.head is None:
        return Plan(headline=f"Analyze {seen.where}: there are no rows.", arguments=asked, empty=True)
    read = file_size(seen.size) if seen.columns else "the counts of files"
    return Plan(
        headline=f"Compute statistics of {seen.what}.",
        arguments=asked,
        fingerprint=seen.fingerprint,
        steps=(Step("create", seen.root.snapshot(seen.head.snapshot.id + 1), "one ANALYZE commit"),),
        items=(
            nothing_lost("the rows are the same"),
            Item("keeps", "every row and file"),
            Item("undo", NO_UNDO),
        ),
        cost=f"Spark reads {read}",
        refusals=tuple(writing_refusals(table, seen.schema, context.options)),
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Compute and commit them. Raises `Refused` if the table's definition differs from the plan."""
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    if plan.empty:
        return Outcome(action=ANALYSIS, table=plan.table, message=plan.headline, result={"snapshot_id": None})
    seen = _seen(context.files, table, plan.arguments)
    require_unmoved(table, plan, seen.fingerprint)
    assert seen.head is not None
    newest = seen.head.snapshot.id
    made = committed(context, seen.root, _order(seen, plan), newest, progress)
    assert made is not None
    message = f"Committed statistics of {seen.what}, as snapshot {made.id}"
    result = {"snapshot_id": made.id}
    return finished(context, plan, seen.root, newest, made, message, {**result}, started, progress)


@dataclass(frozen=True)
class _Seen:
    """A root in its present state, and the columns that are analyzed. `size` is that of all files."""

    root: Root
    schema: TableSchema
    head: ChosenSnapshot | None
    size: int
    columns: tuple[SchemaField, ...]

    @property
    def where(self) -> str:
        return f"{self.root.label} of {self.root.table.full_name}"

    @property
    def what(self) -> str:
        if not self.columns:
            return f"the rows of {self.where}"
        return f"{some_of([each.name for each in self.columns])} of {self.where}"

    @property
    def fingerprint(self) -> str:
        """Of what must stay: others may commit meanwhile."""
        return fingerprint(self.root.directory, self.schema.to_json(), str(self.head is None))


def _seen(files: Files, table: TablePath, arguments: Mapping[str, object]) -> _Seen:
    root = branch_root(files, table, text_argument(arguments, "branch"))
    schema, head = Lineage(files, root).require_schema(), choose(files, root, None)
    size = 0 if head is None else size_of(files, table, head.snapshot)[1]
    return _Seen(root, schema, head, size, _columns(schema, text_argument(arguments, "columns")))


def _order(seen: _Seen, plan: Plan) -> Analyze:
    assert seen.head is not None
    head = seen.head.data.decode()
    return Analyze(
        number=0,
        table=seen.root.table.full_name,
        schema=seen.schema.to_json().decode(),
        versions={_TABLE: Version(seen.root.branch, head)},
        sql=_query(seen.columns),
        columns=tuple(each.name for each in seen.columns),
        size=seen.size,
        branch=seen.root.branch,
        follows_main=plan.arguments["branch"] is None,
        head=head,
        commit_user=commit_user(str(uuid.uuid4())),
    )


def _columns(schema: TableSchema, named: str | None) -> tuple[SchemaField, ...]:
    known = {each.name: each for each in schema.fields}
    if named is None or not named.strip():
        return ()
    names = [*known] if named.strip() == _ALL else _names(named)
    for name in names:
        if name not in known:
            raise NotFound(f"There is no column {name}", near_names(name, known))
        if (kind := _kind(known[name])) not in (*_ORDERED, *TEXTS, *BYTES):
            hint = "Name the columns that have numbers, texts, bytes, dates or times."
            raise Refused(f"Column {name} is of type {kind}, which has no statistics", hint)
    return tuple(known[name] for name in dict.fromkeys(names))


def _names(text: str) -> list[str]:
    cursor = TokenCursor(text, tokenize(text))
    names = cursor.read_columns()
    if rest := cursor.text(cursor.index):
        raise UsageError(f"{rest} is no name of a column", "Write commas between the names: a, `b c`.")
    return names


def _kind(column: SchemaField) -> str:
    return ColumnType.of(column.type).name if isinstance(column.type, str) else str(column.type["type"])


def _query(columns: Sequence[SchemaField]) -> str:
    cells = ["count(*)", *(cell for each in columns for cell in _cells(each))]
    return f"SELECT {', '.join(cells)} FROM {_TABLE}"


def _cells(column: SchemaField) -> Iterator[str]:
    """As Java's `ColumnStatistics` takes them."""
    name, kind = quoted(column.name), _kind(column)
    yield f"approx_count_distinct({name})"
    yield from (f"min({name})", f"max({name})") if kind in _ORDERED else ("NULL", "NULL")
    yield f"count(*) - count({name})"
    if kind in (*TEXTS, *BYTES):
        yield from (f"CAST(ceil(avg(length({name}))) AS BIGINT)", f"CAST(max(length({name})) AS BIGINT)")
    else:
        size = _SIZES.get(kind, 16 if ColumnType.of(str(column.type)).is_wide and kind == "DECIMAL" else 8)
        yield from (f"{size}L", f"{size}L")
