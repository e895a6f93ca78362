"""Write rows by pypaimon: the files of a task, and the commit of all tasks' files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER
from pypaimon.table.bucket_mode import BucketMode
from pypaimon.write.table_write import BatchTableWrite
from pyspark.sql.types import StructType

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import open_table
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.writing.after_commit import after_commit
from paimark.core.spark.writing.avro_lists import require_no_null_elements
from paimark.core.spark.writing.commit import Commit, read_old_manifests
from paimark.core.spark.writing.conversion import convert_batch, padded, require_lengths, require_types
from paimark.core.spark.writing.target import WriteTarget, require_unchanged, require_writable
from paimark.core.storage.files import Unanswered
from paimark.core.storage.open import open_files
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.lineage.commits import Overwritten, note_last, require_last_commit
from paimark.core.table.links import require_no_links
from paimark.core.table.records import Snapshot

BUCKET_COLUMN = "__paimark_bucket"
_KINDS = ("+I", "+U", "-U", "-D")
_FORMATS = ("file.format", "file.format.per.level", "changelog-file.format", "file.compression")


def open_target(target: WriteTarget) -> Any:
    """pypaimon's table for the target. Does no I/O. Raises `Refused` for a kind that can't be written."""
    require_writable(target, by_source=True)
    read_old_manifests()
    table = open_table(target.scan)
    # For writing it must read sequence numbers and bucket indexes of the newest snapshot.
    del table._read_snapshot
    dynamic_options = {"dynamic-partition-overwrite": str(target.dynamic).lower()}
    # Stock Paimon accepts these in any case, pypaimon only in lower case.
    options = target.table_schema.options
    dynamic_options |= {name: options[name].lower() for name in _FORMATS if name in options}
    return table.copy_without_time_travel(dynamic_options)


def write_rows(target: WriteTarget, batches: Iterable[pa.RecordBatch], behind: int = 0) -> list[Any]:
    """Write one task's rows to files that no snapshot names yet; return pypaimon's commit messages.

    Of rows with the same key the last one of the task counts. `behind` is added to sequence numbers: if it
    differs between tasks, it orders their rows. If anything fails, the files are deleted.
    """
    files, table = open_files(target.warehouse, target.options), open_target(target)
    require_no_links(files, target.root.table)
    writer = BatchTableWrite(table, target.commit_user, {} if target.overwrite else None)
    if behind:
        load_numbers = writer.file_store_write._load_seq_number_stats
        writer.file_store_write._load_seq_number_stats = lambda partition: _ShiftedNumbers(
            load_numbers(partition), behind
        )
    try:
        for batch in batches:
            check_cancelled()
            converted = convert_batch(batch, writer.table_pyarrow_schema)
            require_lengths(target.table_schema, converted)
            converted = padded(target.table_schema, converted)
            _require_hashable_keys(table, converted)
            _require_kinds(table, converted)
            require_no_null_elements(target.name, table, converted)
            if converted.num_rows:
                writer.write_arrow_batch(converted)
        messages: list[Any] = writer.prepare_commit()
    except BaseException:
        writer.abort()
        raise
    finally:
        writer.close()
    paths = [str(file.file_path) for message in messages for file in message.new_files]
    try:
        require_no_links(files, target.root.table, paths)
    except Refused:
        delete_rows(target, [messages])
        raise
    return messages


def buckets_of(target: WriteTarget, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with an additional column for the bucket of each row."""
    table = open_target(target)
    extractor = table.create_row_key_extractor()
    arrow = {field.name: field for field in _arrow_schema(table)}
    for batch in batches:
        typed = convert_batch(batch, pa.schema([arrow[name] for name in batch.schema.names]))
        typed = padded(target.table_schema, typed)
        buckets = pa.array(extractor.extract_partition_bucket_batch(typed)[1], pa.int32())
        yield batch.append_column(pa.field(BUCKET_COLUMN, pa.int32()), buckets)


def commit_rows(target: WriteTarget, by_task: Sequence[Sequence[Any]]) -> None:
    """Commit all files of the tasks at once, or none; then run the step after the commit.

    Raises `Refused` if main or the table's schema has changed, or if others commit all the time; then the
    tasks' files are deleted. Raises `Unanswered` if it is unknown whether it was committed; then they stay.
    """
    files = open_files(target.warehouse, target.options)
    table = open_target(target)
    commit = Commit(files, target, table)
    messages = [message for task in by_task for message in task if not message.is_empty()]
    with deleted_unless_committed(commit, target, by_task):
        if table.is_primary_key_table:
            _require_one_task_a_bucket(target, by_task)
        require_unchanged(files, target)
        require_last_commit(files, target.root)
        if target.overwrite:
            commit.overwrite({}, messages, BATCH_COMMIT_IDENTIFIER)
        else:
            commit.commit(messages, BATCH_COMMIT_IDENTIFIER)
    if commit.snapshot_json is not None:
        newest = Snapshot.from_json(commit.snapshot_json, "the commit")
        note_last(files, target.root, newest.id, commit.snapshot_json)
    after_commit(target)


@contextmanager
def deleted_unless_committed(
    commit: Commit, target: WriteTarget, by_task: Sequence[Sequence[Any]]
) -> Iterator[None]:
    """Delete the tasks' files if the commit in its block fails, unless it may have landed all the same.

    Raises `Refused` or `Unanswered` for errors of pypaimon, and `Overwritten`.
    """
    name = target.name
    try:
        yield
    except Overwritten:
        # Another commit may have built on it before it was overwritten: then its files stay.
        if not commit.may_have_landed:
            delete_rows(target, by_task)
        commit.forget()
        raise
    except BaseException as error:
        commit.forget()
        if commit.may_have_landed and isinstance(error, Exception):
            raise Unanswered(
                f"It is not known whether the rows were committed to {name}: {error.__cause__ or error}",
                "Look at the rows before you run it again.",
            ) from error
        if not commit.may_have_landed:
            delete_rows(target, by_task)
        if not isinstance(error, RuntimeError):
            raise
        if "commit conflicts" in str(error):
            raise Refused(
                f"Others committed to {name} each time that this write tried to",
                "Nothing has changed. Run it again, or raise the table's option commit.max-retries.",
            ) from error
        raise Refused(f"The rows can't be committed to {name}: {str(error).rstrip('.')}") from error


def delete_rows(target: WriteTarget, by_task: Iterable[Sequence[Any]]) -> None:
    """Delete the files of a write that was not committed, and never will be."""
    files = open_files(target.warehouse, target.options)
    commit = Commit(files, target, open_target(target))
    commit.abort([message for task in by_task for message in task])


class _ShiftedNumbers(dict[int, int]):
    """The last sequence number of each bucket, increased by a distance."""

    def __init__(self, numbers: Mapping[int, int], distance: int) -> None:
        super().__init__(numbers)
        self._distance = distance

    def get(self, bucket: int, default: int = -1) -> int:  # type: ignore[override]  # all that is asked
        return super().get(bucket, default) + self._distance


def _arrow_schema(table: Any) -> pa.Schema:
    from pypaimon.schema.data_types import PyarrowFieldParser

    return PyarrowFieldParser.from_paimon_schema(table.table_schema.fields)


def _require_hashable_keys(table: Any, batch: pa.RecordBatch) -> None:
    """Raises `Refused` for nulls in wide key columns.

    The bytes of keys determine the bucket, and for these nulls pypaimon's differ from stock Paimon's.
    """
    is_hashed = table.bucket_mode() == BucketMode.HASH_FIXED
    keys = {*table.partition_keys, *(table.table_schema.bucket_keys if is_hashed else ())}
    wide = [each for each in table.fields if each.name in keys and ColumnType.of(str(each.type)).is_wide]
    for field in wide:
        if batch.column(batch.schema.get_field_index(field.name)).null_count:
            what = "partition" if field.name in table.partition_keys else "bucket"
            raise Refused(
                f"Column {field.name} is null in a row, and this version can't tell the {what} of a null "
                f"{field.type}",
                "Write those rows with the engine that made the table.",
            )


def _require_kinds(table: Any, batch: pa.RecordBatch) -> None:
    """Raises `Refused` if the column of `rowkind.field` has a value that is no row kind."""
    name = table.table_schema.options.get("rowkind.field")
    if name not in batch.schema.names:
        return
    column = batch.column(batch.schema.get_field_index(name))
    strange = column.filter(pc.invert(pc.is_in(column, value_set=pa.array(_KINDS, column.type))))
    if len(strange):
        value = "a null" if strange[0].as_py() is None else repr(strange[0].as_py())
        raise Refused(
            f"Column {name} says which rows are deletes, and {value} is none of {', '.join(_KINDS)}",
            "Give every row one of these.",
        )


def _require_one_task_a_bucket(target: WriteTarget, by_task: Sequence[Sequence[Any]]) -> None:
    """Raises `Refused` if two tasks wrote to a bucket: the order of their rows would be undefined."""
    if overlap(
        {(tuple(message.partition), message.bucket) for message in messages if message.new_files}
        for messages in by_task
    ):
        raise Refused(
            f"Two tasks wrote to one bucket of {target.name}, whose rows have keys: "
            "give the rows to paimark.core.spark.writing.write.clustered first"
        )


def overlap(sets: Iterable[set[tuple[object, ...]]]) -> bool:
    """Whether any two sets have a common element."""
    listed = list(sets)
    return sum(map(len, listed)) > len(set().union(*listed))


def check_columns(target: WriteTarget, columns: StructType) -> None:
    """Check the rows' columns by name; a column that may be null can be left out. Raises `Refused`.

    A column with a default may not be left out: it would have to be filled in.
    """
    name, names = target.name, columns.fieldNames()
    fields = {field.name: field for field in _arrow_schema(open_target(target))}
    if unknown := [each for each in names if each not in fields and each != BUCKET_COLUMN]:
        raise Refused(f"{name} has no column {unknown[0]}", f"It has {', '.join(fields)}.")
    missing = [each for each, field in fields.items() if each not in names and not field.nullable]
    if missing:
        raise Refused(f"The rows lack column {missing[0]}, which may not be null", "Add it.")
    for each in target.table_schema.fields:
        if each.default_value is not None and each.name not in names:
            raise Refused(
                f"The rows lack column {each.name}, whose default this does not fill in",
                f"Add it with {each.default_value}, or write by INSERT, which fills it in.",
            )
    require_types(name, columns, spark_columns(target.scan))
