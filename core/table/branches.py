"""What a list of branches says of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.errors import NotFound
from core.storage.files import Files
from core.table.layout import Root, TablePath
from core.table.lineage import Lineage
from core.table.main_branch import branch_names, main_root


class BranchRow(NamedTuple):
    """One root. `create_time` is epoch milliseconds, None where the store does not tell.

    `created_from` is the tag that the root began with: the one whose snapshot is its first.
    """

    branch_name: str
    create_time: int | None
    is_main: bool
    created_from: str | None
    earliest_snapshot_id: int | None
    latest_snapshot_id: int | None


def branch_rows(files: Files, table: TablePath) -> Iterator[BranchRow]:
    """Main first, then the other branches by name. Raises `NotFound` when the table is gone."""
    main = main_root(files, table)
    yield _row(files, main, is_main=True)
    for name in branch_names(files, table):
        if name == main.branch:
            continue
        try:
            yield _row(files, table.root(name), is_main=False)
        except NotFound:
            # Deleted since it was listed.
            continue


def _row(files: Files, root: Root, *, is_main: bool) -> BranchRow:
    lineage = Lineage(files, root)
    earliest = lineage.earliest_id()
    return BranchRow(
        root.label,
        _create_time(files, root),
        is_main,
        None if root.branch is None else _created_from(lineage, earliest),
        earliest,
        lineage.latest_id(),
    )


def _create_time(files: Files, root: Root) -> int | None:
    """A root gets its first schema when it is made, and that file is never written again."""
    return min((entry.modified for entry in files.entries(root.schemas) if entry.modified), default=None)


def _created_from(lineage: Lineage, earliest: int | None) -> str | None:
    return next((name for name, tag in lineage.tags() if tag.id == earliest), None)
