"""Paimon's system tables that are metadata only, and `savepoints`, as columns and rows.

Names and order are stock Paimon's; this project's own columns come after them. A TIMESTAMP(3) is epoch
milliseconds; fields, keys and options are JSON text. `files` lacks the statistics of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from paimark.core.errors import NotFound
from paimark.core.figures import moment
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root
from paimark.core.table.lineage.notes import note_of
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.names import BRANCH_PART, near_names
from paimark.core.table.operations import Operation, checks_said, read_operations
from paimark.core.table.read_tags import created_ms, retained_text
from paimark.core.table.records import Savepoint, Snapshot, read_records
from paimark.core.table.savepoints import SavepointManager

Row = tuple[Any, ...]
# Path to a sentence, for each half-written file that had to be left out.
Unreadable = dict[str, str]
Read = Callable[[Files, Root, Unreadable], Iterable[Row]]
ReadSnapshot = Callable[[Files, Root, Snapshot], Iterable[Row]]


def left_out(unreadable: Unreadable) -> str:
    """The sentences shown beside the rows; empty if no file was left out."""
    return " ".join(f"Left out: {sentence}." for sentence in unreadable.values())


class Column(NamedTuple):
    """`type` is a type name of SQL."""

    name: str
    type: str


@dataclass(frozen=True)
class SystemTable:
    """The columns of `t$<name>`, and how to read it. With `of_snapshot` it can be read AS OF any snapshot."""

    name: str
    columns: tuple[Column, ...]
    _read: Read
    of_snapshot: ReadSnapshot | None = None

    def read(self, files: Files, root: Root, unreadable: Unreadable | None = None) -> Iterable[Row]:
        """The rows of the root's branch; `unreadable` is filled while they are read."""
        return self._read(files, root, {} if unreadable is None else unreadable)


def system_table(name: str) -> SystemTable:
    """Raises `NotFound` for a name that is not in `SYSTEM_TABLES`."""
    try:
        return SYSTEM_TABLES[name]
    except KeyError as error:
        raise NotFound(f"There is no system table {name}", _near(name)) from error


def _near(name: str) -> str:
    """A hint for a name that is not in `SYSTEM_TABLES`."""
    if name.lower().startswith(BRANCH_PART):
        return f"Did you mean {BRANCH_PART}{name[len(BRANCH_PART) :]}?"
    there_are = f"There are {', '.join(SYSTEM_TABLES)}, and {BRANCH_PART}NAME for a branch."
    return near_names(name, SYSTEM_TABLES) or there_are


_snapshot_fields = attrgetter(
    *("id", "schema_id", "commit_user", "commit_identifier", "commit_kind", "time_millis"),
    *("base_manifest_list", "delta_manifest_list", "changelog_manifest_list"),
    *("total_record_count", "delta_record_count", "changelog_record_count"),
    *("watermark", "next_row_id", "writer_version"),
)


def snapshot_row(snapshot: Snapshot) -> Row:
    note = note_of(snapshot)
    return (*_snapshot_fields(snapshot), snapshot.operation, note.message or None, note.author or None)


_savepoint_fields = attrgetter(
    *("id", "saved_snapshot_id", "schema_id", "save_time", "record_count"),
    *("snapshot_time", "branch", "comment", "created_by"),
)
_operation_row = attrgetter(
    *("number", "action", "summary", "before", "after", "user", "host", "time"),
)
_tag_row = attrgetter("id", "schema_id", "time_millis", "total_record_count")


def _lineage(files: Files, root: Root, unreadable: Unreadable) -> Lineage:
    lineage = Lineage(files, root)
    lineage.unreadable = unreadable
    return lineage


def _snapshots(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    return map(snapshot_row, _lineage(files, root, unreadable).snapshots())


def _savepoints(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    manager = SavepointManager(files, root.table)
    manager.unreadable = unreadable
    return savepoint_rows_of(files, root, manager.health_of_root(root))


def savepoint_rows_of(files: Files, root: Root, savepoints: Iterable[tuple[Savepoint, str]]) -> Iterator[Row]:
    why = reasons(files, root, "savepoint")
    return ((*_savepoint_fields(each), health, why.get(str(each.id))) for each, health in savepoints)


def _tags(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    why = reasons(files, root, "tag")
    for name, tag in _lineage(files, root, unreadable).tags():
        yield (name, *_tag_row(tag), created_ms(tag), retained_text(tag), why.get(name))


def _branches(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    why = reasons(files, root, "branch")
    return ((*each, why.get(each.branch_name)) for each in branch_rows(files, root.table))


def _schemas(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    for schema in _lineage(files, root, unreadable).schemas():
        fields = [field.as_written() for field in schema.fields]
        parts = (fields, schema.partition_keys, schema.primary_keys, schema.options)
        texts = (msgspec.json.encode(part).decode() for part in parts)
        yield (schema.id, *texts, schema.comment, schema.time_millis)


def _operations(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    known = read_operations(files, root.table)
    numbers = {each.token: each.number for each in known}
    for each in known:
        undoes, redoes = (numbers.get(token or "") for token in (each.undoes, each.redoes))
        found = checks_said(each.checks) if each.checks else None
        note = (each.message, each.author or each.user)
        yield (*_operation_row(with_remark(each)), undoes, redoes, take_back(root, each), found, *note)


def take_back(root: Root, operation: Operation) -> str:
    """The command that takes it back in its turn, or why there is none."""
    if operation.undoes is not None:
        return root.table.redo
    if operation.has_way_back:
        return root.table.undo
    return operation.no_way_back or "it can't be taken back"


def with_remark(operation: Operation) -> Operation:
    """The operation; the summary of a part of a change of many says which part."""
    remark = ""
    if (group := operation.group) is not None:
        remark = f" ({group.number} of {len(group.names)} at once)"
    if operation.landed is False:
        remark = " (it is not known whether this landed: its writer ended, and the snapshot has expired)"
    if (stream := operation.stream) is not None and not stream.is_over:
        remark += (
            f" (last batch {moment(stream.at)}; its end is not in the log: it runs, was stopped or died)"
        )
    return msgspec.structs.replace(operation, summary=operation.summary + remark)


def _options(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    schema = Lineage(files, root).latest_schema()
    return sorted(schema.options.items()) if schema else ()


def _files(files: Files, root: Root, unreadable: Unreadable) -> Iterable[Row]:
    latest = Lineage(files, root).latest()
    return () if latest is None else _files_of(files, root, latest)


def _files_of(files: Files, root: Root, snapshot: Snapshot) -> Iterable[Row]:
    # Only this table reads manifests; the others need not load Avro.
    from paimark.core.table.manifests.file_rows import file_rows

    return file_rows(files, root, snapshot)


def _table(name: str, read: Read, columns: str, of_snapshot: ReadSnapshot | None = None) -> SystemTable:
    """`columns` is written as in SQL: `a BIGINT, b STRING`."""
    pairs = (column.split() for column in columns.split(","))
    return SystemTable(name, tuple(Column(column, kind) for column, kind in pairs), read, of_snapshot)


SYSTEM_TABLES: dict[str, SystemTable] = {
    table.name: table
    for table in (
        _table(
            "snapshots",
            _snapshots,
            """snapshot_id BIGINT, schema_id BIGINT, commit_user STRING, commit_identifier BIGINT,
            commit_kind STRING, commit_time TIMESTAMP(3), base_manifest_list STRING,
            delta_manifest_list STRING, changelog_manifest_list STRING, total_record_count BIGINT,
            delta_record_count BIGINT, changelog_record_count BIGINT, watermark BIGINT, next_row_id BIGINT,
            writer_version STRING, operation STRING, message STRING, author STRING""",
        ),
        _table(
            "savepoints",
            _savepoints,
            """savepoint_id BIGINT, saved_snapshot_id BIGINT, schema_id BIGINT, save_time BIGINT,
            record_count BIGINT, snapshot_time BIGINT, branch STRING, comment STRING, created_by STRING,
            health STRING, protected STRING""",
        ),
        _table(
            "tags",
            _tags,
            """tag_name STRING, snapshot_id BIGINT, schema_id BIGINT, commit_time TIMESTAMP(3),
            record_count BIGINT, create_time TIMESTAMP(3), time_retained STRING,
            protected STRING""",
        ),
        _table(
            "branches",
            _branches,
            """branch_name STRING, create_time TIMESTAMP(3), is_main BOOLEAN, created_from STRING,
            earliest_snapshot_id BIGINT, latest_snapshot_id BIGINT, fork_snapshot_id BIGINT, ahead BIGINT,
            behind BIGINT, health STRING, protected STRING""",
        ),
        _table(
            "schemas",
            _schemas,
            """schema_id BIGINT, fields STRING, partition_keys STRING, primary_keys STRING, options STRING,
            comment STRING, update_time TIMESTAMP(3)""",
        ),
        _table(
            "operations",
            _operations,
            """operation_id BIGINT, action STRING, summary STRING, before STRING, after STRING, user STRING,
            host STRING, time TIMESTAMP(3), undoes BIGINT, redoes BIGINT,
            take_back STRING, checks STRING, message STRING, author STRING""",
        ),
        _table("options", _options, "key STRING, value STRING"),
        _table(
            "files",
            _files,
            """partition STRING, bucket INT, file_path STRING, file_format STRING, schema_id BIGINT,
            level INT, record_count BIGINT, file_size_in_bytes BIGINT, min_key STRING,
            max_key STRING, min_sequence_number BIGINT, max_sequence_number BIGINT,
            creation_time TIMESTAMP(3), deleteRowCount BIGINT, file_source STRING, first_row_id BIGINT""",
            _files_of,
        ),
    )
}


def newest_snapshots(
    files: Files, root: Root, limit: int | None, unreadable: Unreadable
) -> Iterator[Snapshot]:
    """The `limit` newest snapshots of a root (None: all), whole, newest first."""
    lineage = Lineage(files, root)
    lineage.unreadable = unreadable
    if limit is None:
        ids = lineage.snapshot_ids()[::-1]
    else:
        ids = [row.snapshot_id for row in lineage.newest(limit)]
    paths = [root.snapshot(each) for each in ids]
    return (snapshot for _, snapshot in read_records(Snapshot, files, paths, unreadable))


def savepoints_by_id(
    files: Files, table: TablePath, branch: str | None, unreadable: Unreadable
) -> list[tuple[Savepoint, str]]:
    """The savepoints of one branch, or without `branch` those of all, by id, each with its health."""
    manager = SavepointManager(files, table)
    manager.unreadable = unreadable
    main = branch_root(files, table, branch)
    if branch is not None:
        return manager.health_of_root(main)
    # Main comes last, so that its health replaces that in other branches that have the same savepoint.
    others = [root for root in map(table.root, branch_names(files, table)) if root != main]
    found = {
        each.id: (each, health) for root in (*others, main) for each, health in manager.health_of_root(root)
    }
    return [found[number] for number in sorted(found)]


def savepoint_rows(files: Files, table: TablePath, branch: str | None, unreadable: Unreadable) -> list[Row]:
    """The rows of `$savepoints`, as `savepoints_by_id` lists them."""
    return [*savepoint_rows_of(files, table.root(), savepoints_by_id(files, table, branch, unreadable))]
