"""Read through pypaimon: open a table at a resolved snapshot, plan its splits, read its rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
from pypaimon.common.identifier import Identifier
from pypaimon.common.json_util import JSON
from pypaimon.common.options.config import CatalogOptions
from pypaimon.schema.data_types import PyarrowFieldParser
from pypaimon.schema.table_schema import TableSchema
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from paimark.core.errors import Corrupt, NotFound, Refused, Unavailable
from paimark.core.spark.arrow import fit_batch
from paimark.core.spark.datasource.file_io import file_io
from paimark.core.spark.datasource.pypaimon_limits import (
    LOST_FILE,
    column_to_count,
    refuse_elsewhere,
    refuse_unread,
    require_alike,
)
from paimark.core.spark.datasource.scan import Scan
from paimark.core.table.definition.kind_signs import merge_engine

_OPTIONS = {
    # With pypaimon's default of 1024 rows each few kilobytes take a Python call and an Arrow message.
    "read.batch-size": "8192",
    # A table's options must not choose the reader.
    "scan.native-plan.enabled": "false",
    "read.native.enabled": "false",
    # It refuses names that Java knows, and manifests are only read here: each names its own compression.
    "manifest.compression": "zstd",
}
# pypaimon's message for a row that retracts.
_RETRACTION = re.compile(r"received a \S+ row")
# pypaimon's message for a deletion vector of an unknown kind.
_UNKNOWN_VECTOR = "Invalid magic number"
# Options of a table that name a state to read. The scan's snapshot replaces them.
_SAY_WHERE_TO_READ = ("scan.", "incremental-")


def open_table(scan: Scan) -> Any:
    """pypaimon's table, pinned to the scan's snapshot. Touches no storage."""
    schema = JSON.from_json(scan.schema, TableSchema)
    kept = {name: value for name, value in schema.options.items() if not name.startswith(_SAY_WHERE_TO_READ)}
    table = FileStoreTable(
        file_io(scan.warehouse, {**scan.options, CatalogOptions.WAREHOUSE.key(): scan.warehouse}),
        Identifier.create(scan.database, scan.table, branch=scan.branch),
        f"{scan.warehouse.rstrip('/')}/{scan.database}.db/{scan.table}",
        schema.copy(new_options=kept | _OPTIONS),
    )
    # pypaimon looks here first. Its public API takes ids and tag names: it would resolve them again by its
    # own rules, and can't read an expired snapshot that a savepoint or tag keeps.
    table._read_snapshot = JSON.from_json(scan.snapshot, Snapshot) if scan.snapshot else None
    return table


def plan_splits(scan: Scan) -> list[Any]:
    """The splits to read, in pypaimon's order. Raises `Refused` if pypaimon would misread a column."""
    splits: list[Any] = _builder(scan).new_scan().plan().splits()
    if scan.only is not None:
        names = frozenset(scan.only)
        parts = (split.filter_file(lambda file: file.file_name in names) for split in splits)
        splits = [part for part in parts if part is not None]
    require_readable(scan, splits)
    look_for_deletes(scan, splits)
    return splits


def look_for_deletes(scan: Scan, splits: Collection[Any]) -> None:
    """Merge also the files of splits in which no delete is counted, if there may be some.

    With `rowkind.field` pypaimon writes deletes without counting them, and stock compaction moves a single
    file to another level unchanged. Without merging, the deleted rows would come back.
    """
    if "rowkind.field" in scan.table_schema.options:
        for split in splits:
            split.raw_convertible = False


def require_readable(scan: Scan, splits: Collection[Any]) -> None:
    """Raises `Refused` naming what pypaimon reads of the splits otherwise than Paimon."""
    table = open_table(scan)
    require_alike(scan.name, table, _columns(scan, table, splits), splits)


def read_splits(scan: Scan, splits: list[Any]) -> Iterator[pa.RecordBatch]:
    """The rows of splits, merged if the table has a primary key.

    Raises `Refused` for rows that pypaimon can't merge, or whose deletion vectors it can't read; `Corrupt`
    for a file that differs from its manifest; `FileNotFoundError`.
    """
    name = scan.name
    try:
        yield from _builder(scan, splits).new_read().to_arrow_batch_reader(splits)
    # Before NotImplementedError, which is a base class of Arrow's.
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        refuse_unread(name, open_table(scan).fields, error)
        raise Corrupt(f"Files of {name} can't be read ({error})", "See `paimark verify`.") from error
    except FileNotFoundError as error:
        refuse_elsewhere(name, scan.table_schema, error)
        raise
    except ArithmeticError as error:
        raise Refused(
            f"The merged value of rows of {name} is too large for their column: {error}",
            "A stock engine reads them, or reports the same.",
        ) from error
    except NotImplementedError as error:
        engine = merge_engine(open_table(scan).table_schema.options)
        effect = "retract values of earlier ones" if engine == "aggregation" else "are deletes"
        raise Refused(
            f"{name} has rows that {effect}, and no reader here merges these by {engine}"
            if _RETRACTION.search(str(error))
            else f"No reader here can merge the rows of {name}: {error}",
            "A stock engine reads them; its full compaction merges them for good (CALL sys.compact).",
        ) from error
    except RuntimeError as error:
        if _UNKNOWN_VECTOR not in str(error):
            raise
        raise Refused(
            f"Python does not read the deletion vectors of {name} (deletion-vectors.bitmap64)",
            "Spark's own readers do, where EXPLAIN says `scan: native`; else a stock engine.",
        ) from error


def _columns(scan: Scan, table: Any, splits: Collection[Any]) -> list[str]:
    """The columns to read from the splits."""
    selected = table.field_names if scan.columns is None else scan.columns
    return list(dict.fromkeys([*selected, *column_to_count(scan.name, table, selected, splits)]))


def _builder(scan: Scan, splits: Collection[Any] = ()) -> Any:
    table = open_table(scan)
    builder = table.new_read_builder()
    if scan.columns is not None:
        builder = builder.with_projection(_columns(scan, table, splits))
    return builder


def arrow_schema(scan: Scan) -> pa.Schema:
    """The columns that the scan selects, in its order."""
    schema = PyarrowFieldParser.from_paimon_schema(open_table(scan).fields)
    if scan.columns is None:
        return schema
    return pa.schema([schema.field(name) for name in scan.columns])


def row_batches(scan: Scan, limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield at most `limit` rows in the columns of `arrow_schema`, reading lazily.

    Raises `Refused` for rows that can't be read correctly, `Corrupt` for a file that differs from its
    manifest, `NotFound` for a missing one, and `Unavailable`.
    """
    try:
        yield from _row_batches(scan, limit)
    except FileNotFoundError as error:
        raise NotFound(
            f"A file that this version of {scan.name} needs is not there: {error}",
            LOST_FILE,
        ) from error
    except OSError as error:
        raise Unavailable(f"{scan.name} could not be read: {error}") from error


def _row_batches(scan: Scan, limit: int | None) -> Iterator[pa.RecordBatch]:
    schema, remaining = arrow_schema(scan), limit
    # Apply the limit here, split by split: the reader's limit counts rows before merging.
    for split in plan_splits(scan) if scan.snapshot and remaining != 0 else ():
        for batch in read_splits(scan, [split]):
            first_rows = batch if remaining is None else batch.slice(0, min(remaining, batch.num_rows))
            rows = fit_batch(first_rows, schema)
            yield rows
            if remaining is not None and (remaining := remaining - rows.num_rows) <= 0:
                return
