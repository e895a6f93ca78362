"""Paimon's system tables that are metadata only, and `savepoints`, as columns and rows.

Names and order are stock Paimon's; what this project adds comes after them. A TIMESTAMP(3) is epoch
milliseconds, fields, keys and options are JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from core.errors import NotFound
from core.storage.files import Files
from core.table.branches import branch_rows
from core.table.layout import Root, TablePath
from core.table.lineage import Lineage
from core.table.names import near_names
from core.table.savepoints import SavepointManager
from core.table.tag_times import created_ms, retained_text

Row = tuple[Any, ...]
Read = Callable[[Files, Root], Iterable[Row]]


class Column(NamedTuple):
    """`type` is SQL's word for it."""

    name: str
    type: str


@dataclass(frozen=True)
class SystemTable:
    """What `t$<name>` holds."""

    name: str
    columns: tuple[Column, ...]
    read: Read


def rows(files: Files, table: TablePath, root: Root, name: str) -> list[Row]:
    """The rows of `t$<name>`, of the root's branch. Raises `NotFound` for a name that is no system table."""
    return list(system_table(name).read(files, root))


def system_table(name: str) -> SystemTable:
    """Raises `NotFound` for a name that is none of `SYSTEM_TABLES`."""
    try:
        return SYSTEM_TABLES[name]
    except KeyError as error:
        hint = near_names(name, SYSTEM_TABLES) or f"There are {', '.join(SYSTEM_TABLES)}."
        raise NotFound(f"There is no system table {name}", hint) from error


snapshot_row = attrgetter(
    *("id", "schema_id", "commit_user", "commit_identifier", "commit_kind", "time_millis"),
    *("base_manifest_list", "delta_manifest_list", "changelog_manifest_list"),
    *("total_record_count", "delta_record_count", "changelog_record_count"),
    *("watermark", "next_row_id", "writer_version"),
)
_savepoint_row = attrgetter(
    *("id", "saved_snapshot_id", "schema_id", "save_time", "record_count"),
    *("snapshot_time", "branch", "comment", "created_by"),
)
_tag_row = attrgetter("id", "schema_id", "time_millis", "total_record_count")


def _snapshots(files: Files, root: Root) -> Iterable[Row]:
    return map(snapshot_row, Lineage(files, root).snapshots())


def _savepoints(files: Files, root: Root) -> Iterable[Row]:
    manager = SavepointManager(files, root.table)
    for savepoint, health in manager.health_of_root(root):
        yield (*_savepoint_row(savepoint), health)


def _tags(files: Files, root: Root) -> Iterable[Row]:
    for name, tag in Lineage(files, root).tags():
        yield (name, *_tag_row(tag), created_ms(tag), retained_text(tag))


def _branches(files: Files, root: Root) -> Iterable[Row]:
    return branch_rows(files, root.table)


def _schemas(files: Files, root: Root) -> Iterable[Row]:
    for schema in Lineage(files, root).schemas():
        fields = [field.as_written() for field in schema.fields]
        parts = (fields, schema.partition_keys, schema.primary_keys, schema.options)
        texts = (msgspec.json.encode(part).decode() for part in parts)
        yield (schema.id, *texts, schema.comment, schema.time_millis)


def _table(name: str, read: Read, columns: str) -> SystemTable:
    """`columns` is written as in SQL: `a BIGINT, b STRING`."""
    pairs = (column.split() for column in columns.split(","))
    return SystemTable(name, tuple(Column(column, kind) for column, kind in pairs), read)


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
            writer_version STRING""",
        ),
        _table(
            "savepoints",
            _savepoints,
            """savepoint_id BIGINT, saved_snapshot_id BIGINT, schema_id BIGINT, save_time BIGINT,
            record_count BIGINT, snapshot_time BIGINT, branch STRING, comment STRING, created_by STRING,
            health STRING""",
        ),
        _table(
            "tags",
            _tags,
            """tag_name STRING, snapshot_id BIGINT, schema_id BIGINT, commit_time TIMESTAMP(3),
            record_count BIGINT, create_time TIMESTAMP(3), time_retained STRING""",
        ),
        _table(
            "branches",
            _branches,
            """branch_name STRING, create_time TIMESTAMP(3), is_main BOOLEAN, created_from STRING,
            earliest_snapshot_id BIGINT, latest_snapshot_id BIGINT, fork_snapshot_id BIGINT, ahead BIGINT,
            behind BIGINT""",
        ),
        _table(
            "schemas",
            _schemas,
            """schema_id BIGINT, fields STRING, partition_keys STRING, primary_keys STRING, options STRING,
            comment STRING, update_time TIMESTAMP(3)""",
        ),
    )
}
