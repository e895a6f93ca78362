"""Records of a table as frozen structs: the columns of the system tables (`t$snapshots`), by their names.

Times are epoch milliseconds. Counts of rows are before rows of one key are merged.
"""

from __future__ import annotations

from typing import Any

import msgspec

from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import SchemaField, TableSchema


class Snapshot(msgspec.Struct, frozen=True):
    """One commit. `commit_kind` is APPEND, COMPACT, OVERWRITE or ANALYZE.

    Paimon 2 tells the `operation`, such as MERGE; Paimark the `message` and `author`.
    """

    snapshot_id: int
    schema_id: int
    commit_user: str
    commit_identifier: int
    commit_kind: str
    commit_time: int
    base_manifest_list: str
    delta_manifest_list: str
    changelog_manifest_list: str | None
    total_record_count: int | None
    delta_record_count: int | None
    changelog_record_count: int | None
    watermark: int | None
    next_row_id: int | None
    writer_version: str | None
    operation: str | None
    message: str | None
    author: str | None


class Tag(msgspec.Struct, frozen=True):
    """A name for a snapshot. Only tags that expire have `create_time` and `time_retained` (`PT24H`).

    `protected` is the reason why no action may delete it; None if one may.
    """

    tag_name: str
    snapshot_id: int
    schema_id: int
    commit_time: int
    record_count: int | None
    create_time: int | None
    time_retained: str | None
    protected: str | None


class FirstRows(msgspec.Struct, frozen=True):
    """The first `version` that has `rows` of a condition; `before_version` has none.

    That is None if the oldest version has some. Of `expired_between` snapshots between the two nothing is
    known.
    """

    snapshot_id: int
    version: str
    commit_time: int
    rows: int
    before_version: str | None
    expired_between: int


class RowChange(msgspec.Struct, frozen=True):
    """What a commit did to the rows of a key: `change` is added, changed or removed.

    It came after `before_version`. Of the oldest version that is left, `change` is there: nobody knows how
    its rows came, and `before_version` is None. `old` and `new` are the rows that differ, by column.
    """

    snapshot_id: int
    version: str
    commit_time: int
    commit_user: str
    change: str
    old: tuple[dict[str, Any], ...]
    new: tuple[dict[str, Any], ...]
    before_version: str | None


class Blamed(msgspec.Struct, frozen=True):
    """A row by its `key`, and the commit that wrote it last; None if that is not known."""

    key: dict[str, Any]
    snapshot_id: int | None
    version: str | None
    commit_time: int | None
    commit_user: str | None


class Holder(msgspec.Struct, frozen=True):
    """A version that has `rows` of a condition; `commands` let it go, in their order.

    `what` is branch, tag, savepoint, newest, snapshots (of main; the most rows of one), files: what holds
    rows that no version has any more, or unsearched: a branch with other keys than main, with unknown rows.
    """

    what: str
    name: str
    snapshot_id: int
    rows: int
    commands: tuple[str, ...]


class Branch(msgspec.Struct, frozen=True):
    """A branch; exactly one is main. `created_from` is its tag, or its snapshot: `snapshot.12`.

    `fork_snapshot_id` is its fork from main; `ahead` and `behind` count the commits of the branch and of main
    since the fork. They are None for main, and if the fork is not proven. `health` is `ok`, `exposed` (stock
    expiry on it can delete files of savepoints) or `unreadable`. `protected` is as in `Tag`.
    """

    branch_name: str
    create_time: int | None
    is_main: bool
    created_from: str | None
    earliest_snapshot_id: int | None
    latest_snapshot_id: int | None
    fork_snapshot_id: int | None
    ahead: int | None
    behind: int | None
    health: str
    protected: str | None


class Operation(msgspec.Struct, frozen=True):
    """One finished change. `before` and `after` name what it moved; `undoes`, `redoes` are operation ids.

    `take_back` is the command that takes it back in its turn, or why there is none. `checks` says what the
    checks of the rows that it published found; None if there were none. `author` is the `user`, or who was
    named.
    """

    operation_id: int
    action: str
    summary: str
    before: str
    after: str
    user: str
    host: str
    time: int
    undoes: int | None
    redoes: int | None
    take_back: str
    checks: str | None
    message: str | None
    author: str


class Field(msgspec.Struct, frozen=True):
    """A column. `type` is Paimon's text: `BIGINT NOT NULL`, `ARRAY<STRING>`."""

    id: int
    name: str
    type: str
    description: str | None
    default_value: Any


class Schema(msgspec.Struct, frozen=True):
    """One version of a table's definition."""

    schema_id: int
    fields: tuple[Field, ...]
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: dict[str, str]
    comment: str | None
    update_time: int | None


def schema_of(record: TableSchema) -> Schema:
    """The public shape of a schema file."""
    return Schema(
        schema_id=record.id,
        fields=tuple(map(_field, record.fields)),
        partition_keys=tuple(record.partition_keys),
        primary_keys=tuple(record.primary_keys),
        options=record.options,
        comment=record.comment,
        update_time=record.time_millis,
    )


def _field(record: SchemaField) -> Field:
    return Field(record.id, record.name, type_text(record.type), record.description, record.default_value)
