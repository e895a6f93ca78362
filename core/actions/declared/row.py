"""A row of the console, from which arguments are taken."""

from __future__ import annotations

import msgspec

from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX


class RowVersion(msgspec.Struct, frozen=True):
    """The version of a row for `VERSION AS OF`, or a branch, or (all None) the table itself.

    `commit_time` (epoch ms) distinguishes the snapshot from a later one with the same id. `operation` is the
    number of a row of the log."""

    version: str | None = None
    branch: str | None = None
    tag: str | None = None
    snapshot_id: int | None = None
    commit_time: int | None = None
    operation: int | None = None


class Seen(msgspec.Struct, frozen=True):
    """A row, and its branch (None for main).

    `newest`: whether the newest snapshot is meant, and not that of the row; None: the action says so.
    """

    row: RowVersion = RowVersion()
    branch: str | None = None
    newest: bool | None = None


def is_savepoints(tag: str | None) -> bool:
    """Whether a tag belongs to a savepoint: it goes when that is deleted, and keeps its name."""
    return tag is not None and tag.startswith(SAVEPOINT_TAG_PREFIX)
