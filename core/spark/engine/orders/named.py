"""Open the versions of an order under the names that its queries use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.table_options import require_obeyed
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.tables import OpenedTable, opened_scan
from paimark.core.spark.incremental.restricted import restricted
from paimark.core.spark.protocol import Analyze, Ask, Reading, Repair, Version, Write
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.statement import TableUse

Order = Ask | Write | Analyze | Repair


@contextmanager
def named_versions(session: EngineSession, order: Order) -> Iterator[Mapping[str, OpenedTable]]:
    """Open the versions and texts under the names that the order's queries use."""
    named = {name: _opened(session, order, name, scan) for name, scan in _scans(session, order).items()}
    with ExitStack() as ends:
        for name, lines in order.texts.items():
            frame = session.spark.createDataFrame(pa.table({"line": pa.array(lines, pa.string())}))
            ends.enter_context(temporary_view(session.spark, name, frame))
        yield named


def _scans(session: EngineSession, order: Order) -> dict[str, Scan]:
    scans = {name: _scan(session, order, version) for name, version in order.versions.items()}
    for name, version in order.versions.items():
        if other := version.beside:
            old, new = restricted(session.warehouse.files, scans[name], scans[other])
            scans |= {name: old.scan, other: new.scan}
    return scans


def _scan(session: EngineSession, order: Order, version: Version) -> Scan:
    # All versions are read with one schema: columns are matched by id, not by name.
    schema = version.schema or order.schema
    options = TableSchema.from_json(schema.encode(), "the schema").options
    require_obeyed(order.table, options, version.branch, "root", by_library=session.library.is_wanted)
    root = parse_table_name(order.table).root(version.branch)
    return replace(session.warehouse.scan(root, version.snapshot, schema), only=version.only)


def _opened(session: EngineSession, order: Order, name: str, scan: Scan) -> OpenedTable:
    use, reading = TableUse((name,)), Reading(order.table, name, "")
    return opened_scan(session.natives, session.library, use, scan, reading, "root")


@contextmanager
def temporary_view(spark: SparkSession, name: str, frame: DataFrame) -> Iterator[None]:
    frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        spark.catalog.dropTempView(name)
