"""Read through pypaimon: open a table at a resolved snapshot, plan its splits, read them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.common.identifier import Identifier
from pypaimon.common.json_util import JSON
from pypaimon.common.options.config import CatalogOptions
from pypaimon.schema.table_schema import TableSchema
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.table.file_store_table import FileStoreTable

from paimark.core.errors import Corrupt, Refused
from paimark.core.spark.datasource.conditions import PypaimonCondition, predicate
from paimark.core.spark.datasource.field_types import TEXTS, atoms, file_format, merged_by, type_name
from paimark.core.spark.datasource.file_io import file_io
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.unlike.aggregates import require_merged_alike
from paimark.core.spark.datasource.unlike.counted_rows import COUNTED_FORMATS
from paimark.core.spark.datasource.unlike.far_times import require_near_times
from paimark.core.spark.datasource.unlike.held_columns import require_unrenamed
from paimark.core.spark.datasource.unlike.partition_directories import require_known_directories
from paimark.core.spark.datasource.unlike.patches import patch_pypaimon
from paimark.core.spark.datasource.unlike.type_changes import columns_of_one_type, require_convertible
from paimark.core.spark.datasource.unlike.unread_kinds import refuse_unread, require_kinds_read
from paimark.core.table.definition.kind_signs import ignored_deletes, is_on, merge_engine
from paimark.core.table.manifests.joined_changelogs import is_joined

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
    same = columns_of_one_type(table.fields, table.schema_manager.list_all())
    allowed = same & {*table.primary_keys, *table.partition_keys} if table.primary_keys else same
    types = {field.name: str(field.type) for field in table.fields if field.name in allowed}
    return {
        name: kind
        for name, kind in types.items()
        if type_name(kind) not in TEXTS or name in table.partition_keys
    }


def plan_splits(scan: Scan, conditions: Iterable[PypaimonCondition]) -> list[Any]:
    """The splits to read, in pypaimon's order. Raises `Refused` if pypaimon would misread a column."""
    patch_pypaimon()
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


def require_readable(scan: Scan, splits: Iterable[Any]) -> None:
    """Raises `Refused` naming a column of which pypaimon reads other values than stock Paimon."""
    table = open_table(scan)
    fields = _selected_fields(scan, table)
    require_no_ignored_deletes(scan, table, splits)
    require_own_files(scan.name, splits)
    require_known_directories(scan.name, table, splits)
    require_kinds_read(scan.name, table, fields, splits)
    if not all(split.raw_convertible for split in splits):
        require_merged_alike(scan.name, fields, table.primary_keys, table.table_schema.options)
        ordering = merged_by(table)
        fields += [field for field in table.fields if field.name in ordering and field not in fields]
    older: dict[int, list[Any]] = {}
    for file in (file for split in splits for file in split.files):
        if file.schema_id != table.table_schema.id:
            older.setdefault(file.schema_id, []).append(file)
    for schema_id, files in sorted(older.items()):
        file_schema = table.schema_manager.get_schema(schema_id)
        # pypaimon reports a missing schema itself.
        if file_schema is None:
            continue
        is_orc = any(file_format(file.file_name) == "orc" for file in files)
        require_convertible(scan.name, fields, file_schema.fields, is_orc=is_orc)
        for column_names in {tuple(file.write_cols) for file in files if file.write_cols is not None}:
            require_unrenamed(scan.name, fields, file_schema.fields, column_names)


def require_own_files(name: str, splits: Iterable[Any]) -> None:
    """Raises `Refused` for changes of several buckets in one file: pypaimon looks for one in each bucket."""
    if any(is_joined(file.file_name) for split in splits for file in split.files):
        raise Refused(
            f"{name} has changelogs of several buckets in one file (changelog.precommit-compact), which this "
            "version does not read",
            "Read the changes with Flink, or the rows that are there.",
        )


def require_no_ignored_deletes(scan: Scan, table: Any, splits: Iterable[Any]) -> None:
    """Raises `Refused` if files hold deletes that must be ignored: pypaimon applies them nevertheless."""
    options = table.table_schema.options
    option = ignored_deletes(options)
    if option is None or not table.primary_keys or merge_engine(options) != "deduplicate":
        return
    # With this option pypaimon writes deletes, and counts none of them.
    is_counted = "rowkind.field" not in options
    if not is_counted or any(file.delete_row_count for split in splits for file in split.files):
        raise Refused(
            f"{scan.name} has the option {option} = true, and its files hold deletes: the "
            "Python source would apply them",
            "A stock engine's full compaction removes them (CALL sys.compact).",
        )


def read_splits(
    scan: Scan, conditions: Iterable[PypaimonCondition], splits: list[Any]
) -> Iterator[pa.RecordBatch]:
    """The rows of splits, merged if the table has a primary key.

    Raises `Refused` for a value that doesn't fit the current type of its column, and for rows that pypaimon
    can't merge, or whose deletion vectors it can't read; `Corrupt` for a file that differs from its manifest.
    """
    name = scan.name
    patch_pypaimon()
    try:
        yield from _read(scan, conditions, splits)
    # Before NotImplementedError, which is a base class of Arrow's.
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        refuse_unread(name, _selected_fields(scan, open_table(scan)), error)
        if changed := _changed_columns(scan, splits):
            raise Refused(
                f"A value in older files of {name} does not fit the type that its column has now "
                f"({', '.join(changed)}): {error}",
                "Leave the column out, or read a version from before the change.",
            ) from error
        raise Corrupt(f"Files of {name} can't be read ({error})", "See `paimark verify`.") from error
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


def _read(scan: Scan, conditions: Iterable[PypaimonCondition], splits: list[Any]) -> Iterator[pa.RecordBatch]:
    builder, table = _builder(scan, conditions, splits), open_table(scan)
    columns = _columns(scan, table, splits)
    require_near_times(scan.name, table, columns, splits)
    padded = [field.name for field in table.fields if "CHAR" in map(type_name, atoms(field.type))]

    reader = builder.new_read()
    if not padded:
        yield from reader.to_arrow_batch_reader(splits)
        return
    for split in splits:
        yield from without_padding(scan.name, reader.to_arrow_batch_reader([split]), padded, split)


def without_padding(
    table: str, batches: Iterable[pa.RecordBatch], padded: Collection[str], split: Any
) -> Iterator[pa.RecordBatch]:
    """Strip the spaces with which ORC pads CHAR, as stock Paimon does; `padded` are those columns.

    Raises `Refused` if they can't be distinguished from a value's own spaces.
    """
    formats = {file_format(file.file_name) for file in split.files}
    for batch in batches:
        for index, name in enumerate(batch.schema.names if "orc" in formats else ()):
            if name not in padded:
                continue
            if len(formats) > 1 or not pa.types.is_string(batch.schema.field(index).type):
                raise Refused(
                    f"Column {name} of {table} holds CHAR in ORC files: its own spaces can't be "
                    "distinguished from the padding here",
                    "Leave it out; a stock engine reads it.",
                )
            batch = batch.set_column(index, name, pc.utf8_rtrim(batch.column(index), " "))
        yield batch


def _selected_fields(scan: Scan, table: Any) -> list[Any]:
    """The fields of pypaimon's `table` that the scan selects."""
    return [field for field in table.fields if scan.columns is None or field.name in scan.columns]


def _columns(scan: Scan, table: Any, splits: Iterable[Any]) -> list[str]:
    """The columns to read from the splits."""
    if scan.columns is None:
        return list(table.field_names)
    return [*scan.columns, *_column_to_count(table, scan.columns, splits)]


def _changed_columns(scan: Scan, splits: Collection[Any]) -> list[str]:
    """Each column to read that has another type in a file, as `c, once STRING, is INT`."""
    table = open_table(scan)
    columns = _columns(scan, table, splits)
    current = {field.id: field for field in table.fields if field.name in columns}
    columns_changed: dict[str, None] = {}
    for schema_id in {file.schema_id for split in splits for file in split.files}:
        file_schema = table.schema_manager.get_schema(schema_id)
        for field in () if file_schema is None else file_schema.fields:
            now = current.get(field.id)
            if now is not None and now.type != field.type:
                columns_changed[f"{now.name}, once {field.type}, is {now.type}"] = None
    return list(columns_changed)


def _column_to_count(table: Any, columns: Collection[str], splits: Iterable[Any]) -> list[str]:
    """The oldest column, if rows would be lost without it; otherwise empty.

    Of files in some formats, pypaimon's readers may return no rows if they have none of the selected columns.
    The oldest is read only if it must be, because its older values may not be convertible.
    """
    formats = {file_format(file.file_name) for split in splits for file in split.files}
    stored = [field for field in table.fields if field.name not in table.partition_keys]
    evolves = table.table_schema.id > 0 and is_on(table.table_schema.options, "data-evolution.enabled")
    is_selected = any(field.name in columns for field in stored) and not evolves
    oldest = min(stored or table.fields, key=lambda field: int(field.id)).name
    is_needed = not (is_selected or formats.issubset(COUNTED_FORMATS))
    return [oldest] if is_needed and oldest not in columns else []


def _builder(scan: Scan, conditions: Iterable[PypaimonCondition], splits: Iterable[Any] = ()) -> Any:
    table = open_table(scan)
    builder = table.new_read_builder()
    condition = predicate(builder.new_predicate_builder(), conditions)
    if condition is not None:
        builder = builder.with_filter(condition)
    if scan.columns is not None:
        builder = builder.with_projection(_columns(scan, table, splits))
    # No limit with this option: pypaimon's limit counts the deletes that it writes with it as rows. Nor for a
    # part of the files (`only`): the limit counts rows of the others too.
    if scan.limit is not None and scan.only is None and "rowkind.field" not in table.table_schema.options:
        builder = builder.with_limit(scan.limit)
    return builder
