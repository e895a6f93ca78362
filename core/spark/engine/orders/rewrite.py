"""Do the orders of actions: query versions of a table, write rows of such a query as one commit, compact,
analyze."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.table_options import require_obeyed
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.engine.planned.plans import pins
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.tables import OpenedTable, opened_scan
from paimark.core.spark.incremental.differing_files import narrowed_to_differences
from paimark.core.spark.protocol import (
    Analyze,
    Ask,
    Change,
    Compact,
    Reading,
    TaskResult,
    Version,
    Write,
)
from paimark.core.spark.results.row_server import SentBatch
from paimark.core.spark.session_conf import INFERS
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition import kinds
from paimark.core.table.manifests.files import require_seen, size_of
from paimark.core.table.operations import ANALYSIS, COMPACTION
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.travel.parse.statement import TableUse

# If all versions together have no more rows and bytes of files, one task writes the result.
_FEW_ROWS, _FEW_BYTES = 100_000, 8 << 20
Order = Ask | Change


def answer(session: EngineSession, order: Ask) -> tuple[str, ...]:
    """The rows of a query as JSON objects."""
    with named_versions(session, order) as named:
        others, pinned = _others(session, order) if order.reads_others else ({}, "")
        frame = session.views.query(order.sql, {**named, **others}, pinned)
        return tuple(frame.toJSON().collect())


def _others(session: EngineSession, order: Ask) -> tuple[dict[str, OpenedTable], str]:
    """The tables of the warehouse that the query reads beside its versions, and what pins them."""
    opener, views, database = session.opener(), session.views, session.state.database
    uses = [each for each in views.uses(order.sql, opener.now_ms) if each.parts[0] not in order.versions]
    resolved = [found for use in uses if (found := opener.resolve(order.sql, use)) is not None]
    named = views.names([opener.open(each) for each in resolved])
    return named, pins(order.sql, ((name, table.use) for name, table in named.items()), database)


def answers(
    session: EngineSession, order: Ask, streamed: Callable[[DataFrame], Iterable[SentBatch]]
) -> Generator[tuple[str, ...]]:
    """As `answer`, in parts, in the order of the rows, so that only few rows are in memory."""
    with named_versions(session, order) as named:
        frame = session.views.query(order.sql, named).selectExpr("to_json(struct(*)) AS row")
        for data, _ in streamed(frame):
            with pa.ipc.open_stream(data) as reader:
                yield tuple(row for batch in reader for row in batch.column(0).to_pylist())


def target_of(session: EngineSession, order: Change) -> WriteTarget:
    """The root whose rows an action changes, on the `head` that its order names."""
    return WriteTarget(
        *session.warehouse.address(parse_table_name(order.table).root(order.branch)),
        order.schema,
        follows_main=order.follows_main,
        commit_user=order.commit_user,
        note=order.note,
        head=order.head,
        known=Snapshot.from_json(order.head.encode(), "the order").id if order.head else 0,
        after_commit=None,
        lock=order.lock,
        next_entry=order.next_entry,
    )


def write(session: EngineSession, order: Write) -> TaskResult:
    """Make the commit; the result has no snapshot if there was nothing to write. Raises `Refused`."""
    warehouse, table = session.warehouse, parse_table_name(order.table)
    target = replace(target_of(session, order), overwrite=order.overwrite, may_go_on=order.may_go_on)
    session.writes.require(target)
    if not order.overwrite:
        for each in kinds.merging_refusals(target.table_schema):
            raise Refused(f"{order.table} {each.reason}", each.hint)
    elif order.head:
        # The plan has looked, but in a later try the head is another.
        head = Snapshot.from_json(order.head.encode(), "the order")
        require_seen(warehouse.files, table, target.table_schema, head)
    with named_versions(session, order) as named:
        rows = as_declared(session.views.query(order.sql, named), target)
        made = session.writes.write(target, rows, is_small=is_small(warehouse.files, order))
    return (
        TaskResult()
        if made is None
        else TaskResult(snapshot=made.snapshot.id, remark=made.remark or made.unseen)
    )


def compact(session: EngineSession, order: Compact) -> TaskResult:
    """Raises `Refused` as `LibraryCompaction.compact`, and Spark's error of a task."""
    target = replace(target_of(session, order), operation=COMPACTION)
    partitions = None if order.partitions is None else [b64decode(each) for each in order.partitions]
    made = session.writes.compaction.compact(target, is_full=order.is_full, partitions=partitions)
    if made is None:
        return TaskResult()
    return TaskResult(snapshot=made.snapshot.id, remark=made.remark)


def analyze(session: EngineSession, order: Analyze) -> TaskResult:
    """Raises `Refused` like a commit, and Spark's error of the query."""
    columns = order.columns
    target = replace(
        target_of(session, order),
        may_go_on=True,
        operation=ANALYSIS,
        done=f"statistics of {counted(len(columns), 'column')}" if columns else "the number of rows",
    )
    session.writes.require(target)
    with named_versions(session, order) as named:
        found = session.views.query(order.sql, named)
        made = session.writes.describe(target, found, columns, order.size)
    return TaskResult() if made is None else TaskResult(snapshot=made.snapshot.id, remark=made.remark)


def is_small(files: Files, order: Change) -> bool:
    """Whether the result of a query over the versions fits into this process."""
    rows, sizes = 0, 0
    for version in order.versions.values():
        snapshot = Snapshot.from_json(version.snapshot.encode(), "the order")
        of_it = size_of(files, parse_table_name(order.table), snapshot)
        rows, sizes = rows + of_it[0], sizes + of_it[1]
    return bool(order.versions) and rows <= _FEW_ROWS and sizes <= _FEW_BYTES


def as_declared(frame: DataFrame, target: WriteTarget) -> DataFrame:
    """Cast the columns to Spark's types of the table's columns."""
    names = frame.columns
    # PySpark parses a name as an expression: `a.b` as a part of `a`.
    plain = frame.toDF(*(f"c{index}" for index in range(len(names))))
    return plain.select(
        *(
            plain[f"c{names.index(field.name)}"].cast(field.dataType).alias(field.name)
            for field in spark_columns(target.scan).fields
        )
    )


@contextmanager
def named_versions(session: EngineSession, order: Order) -> Iterator[Mapping[str, OpenedTable]]:
    """Open the versions and texts under the names that the order's queries use."""
    named = {name: _opened(session, order, name, scan) for name, scan in _scans(session, order).items()}
    with ExitStack() as ends:
        # Of rows that are one value each, Spark infers as many conditions as there are sets of columns.
        infers = session.conf.get(INFERS)
        session.conf.put(INFERS, "false")
        ends.callback(session.conf.put, INFERS, infers)
        for name, lines in order.texts.items():
            frame = session.spark.createDataFrame(pa.table({"line": pa.array(lines, pa.string())}))
            ends.enter_context(temporary_view(session.spark, name, frame))
        yield named


def _scans(session: EngineSession, order: Order) -> dict[str, Scan]:
    scans = {name: _scan(session, order, version) for name, version in order.versions.items()}
    for name, version in order.versions.items():
        if other := version.beside:
            old, new = narrowed_to_differences(session.warehouse.files, scans[name], scans[other])
            scans |= {name: old.scan, other: new.scan}
    return scans


def _scan(session: EngineSession, order: Order, version: Version) -> Scan:
    # All versions are read with one schema: columns are matched by id, not by name.
    schema = version.schema or order.schema
    options = TableSchema.from_json(schema.encode(), "the schema").options
    require_obeyed(order.table, options, version.branch, "root", by_library=True)
    root = parse_table_name(order.table).root(version.branch)
    return replace(session.warehouse.scan(root, version.snapshot, schema), only=version.only)


def _opened(session: EngineSession, order: Order, name: str, scan: Scan) -> OpenedTable:
    use, reading = TableUse((name,)), Reading(order.table, name, "")
    table = OpenedTable(use, reading.table, reading)
    return opened_scan(session.natives, session.library, table, scan, "root")


@contextmanager
def temporary_view(spark: SparkSession, name: str, frame: DataFrame) -> Iterator[None]:
    frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        spark.catalog.dropTempView(name)
