"""Read through pypaimon: open a table at a resolved snapshot, plan its splits, read them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
from pypaimon.common.identifier import Identifier
from pypaimon.common.json_util import JSON
from pypaimon.common.options.config import CatalogOptions
from pypaimon.schema.table_schema import TableSchema
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from paimark.core.errors import Corrupt, Refused
from paimark.core.spark.datasource.field_types import shape, type_name
from paimark.core.spark.datasource.file_io import file_io
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.unlike import (
    column_to_count,
    refuse_elsewhere,
    refuse_unread,
    require_alike,
)
from paimark.core.table.definition.column_types import TEXTS
from paimark.core.table.definition.kind_signs import merge_engine

_OPTIONS = {
    # With pypaimon's default of 1024 rows each few kilobytes take a Python call and an Arrow message.
    "read.batch-size": "8192",
    # A table's options must not choose the reader.
    "scan.native-plan.enabled": "false",
    "read.native.enabled": "false",
}
# pypaimon's message for a row that retracts.
_RETRACTION = re.compile(r"received a \S+ row")
# pypaimon's message for a deletion vector of an unknown kind.
_UNKNOWN_VECTOR = "Invalid magic number"
# Options of a table that name a state to read. The scan's snapshot replaces them.
_SAY_WHERE_TO_READ = ("scan.", "incremental-")


class PypaimonCondition(msgspec.Struct, frozen=True):
    """`method` is a method of pypaimon's predicate builder."""

    method: str
    column: str
    values: tuple[Any, ...] = ()


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


def condition_columns(table: Any) -> dict[str, str]:
    """The columns that may have pushed conditions: their types by name.

    Of texts only partitions: Java cuts off the upper bounds of others after 16 characters, and puts a
    question mark, which is less, behind U+D7FF.
    """
    written = [field for schema in table.schema_manager.list_all() for field in schema.fields]
    # Statistics, buckets and dictionaries of files have values of the type with which they were written.
    same = {
        field.name
        for field in table.fields
        if all(shape(each.type) == shape(field.type) for each in written if each.id == field.id)
    }
    allowed = same & {*table.primary_keys, *table.partition_keys} if table.primary_keys else same
    types = {field.name: str(field.type) for field in table.fields if field.name in allowed}
    return {
        name: kind
        for name, kind in types.items()
        if type_name(kind) not in TEXTS or name in table.partition_keys
    }


def plan_splits(scan: Scan, conditions: Iterable[PypaimonCondition]) -> list[Any]:
    """The splits to read, in pypaimon's order. Raises `Refused` if pypaimon would misread a column."""
    splits: list[Any] = _builder(scan, conditions).new_scan().plan().splits()
    if scan.only is not None:
        names = frozenset(scan.only)
        parts = (split.filter_file(lambda file: file.file_name in names) for split in splits)
        splits = [part for part in parts if part is not None]
    require_readable(scan, splits)
    if "rowkind.field" in open_table(scan).table_schema.options:
        for split in splits:
            # With this option pypaimon writes deletes without counting them, and stock compaction moves a
            # single file to another level unchanged. Without merging, the deleted rows would come back.
            split.raw_convertible = False
    return splits


def require_readable(scan: Scan, splits: Collection[Any]) -> None:
    """Raises `Refused` naming what pypaimon reads of the splits otherwise than Paimon."""
    table = open_table(scan)
    require_alike(scan.name, table, _columns(scan, table, splits), splits)


def read_splits(
    scan: Scan, conditions: Iterable[PypaimonCondition], splits: list[Any]
) -> Iterator[pa.RecordBatch]:
    """The rows of splits, merged if the table has a primary key.

    Raises `Refused` for rows that pypaimon can't merge, or whose deletion vectors it can't read; `Corrupt`
    for a file that differs from its manifest; `FileNotFoundError`.
    """
    name = scan.name
    try:
        yield from _builder(scan, conditions, splits).new_read().to_arrow_batch_reader(splits)
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


def why_refused(scan: Scan) -> str:
    """Why the scan is refused; empty if it is not."""
    try:
        _ = plan_splits(scan, ()) if scan.snapshot else []
    except Refused as refused:
        return refused.message
    return ""


def _columns(scan: Scan, table: Any, splits: Collection[Any]) -> list[str]:
    """The columns to read from the splits."""
    selected = table.field_names if scan.columns is None else scan.columns
    return list(dict.fromkeys([*selected, *column_to_count(scan.name, table, selected, splits)]))


def _builder(scan: Scan, conditions: Iterable[PypaimonCondition], splits: Collection[Any] = ()) -> Any:
    table = open_table(scan)
    builder = table.new_read_builder()
    predicates = builder.new_predicate_builder()
    condition = predicates.and_predicates(
        [getattr(predicates, each.method)(each.column, *each.values) for each in conditions]
    )
    if condition is not None:
        builder = builder.with_filter(condition)
    if scan.columns is not None:
        builder = builder.with_projection(_columns(scan, table, splits))
    # No limit with this option: pypaimon's limit counts the deletes that it writes with it as rows. Nor for a
    # part of the files (`only`): the limit counts rows of the others too.
    if scan.limit is not None and scan.only is None and "rowkind.field" not in table.table_schema.options:
        builder = builder.with_limit(scan.limit)
    return builder
