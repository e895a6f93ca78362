"""A row for each branch of a table: fork, commits ahead and behind, health."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.definition.retention import is_retention_off
from paimark.core.table.layout import PIN_PREFIXES, Root, TablePath, in_order_of_makers
from paimark.core.table.lineage.forks import Fork, Side, Unheld, find_fork, unheld_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root

# `exposed`: stock expiry on the root can destroy savepoints. `endless`: main has the options that disable
# stock expiry, for example after another engine's fast-forward from a branch: nothing of main ever expires.
BranchHealth = Literal["ok", "exposed", "endless"]


def branch_health(files: Files, root: Root) -> BranchHealth:
    """Raises `Corrupt` if the newest schema can't be read."""
    schema = Lineage(files, root).latest_schema()
    if schema is None or is_retention_off(schema.options) == (root.branch is not None):
        return "ok"
    return "endless" if root.branch is None else "exposed"


class BranchRow(NamedTuple):
    """One root. `create_time` is epoch milliseconds, None if the store has no times.

    `created_from` is the tag of the root's first snapshot, with which the root began; `snapshot.12` if only
    Paimark's own tags hold that. `ahead` and `behind` count the commits of branch and main since the fork;
    None for main, and if the fork is unknown. `health` is that of its options, `unreadable`, or `unheld` if
    stock expiry on main can take its files.
    """

    branch_name: str
    create_time: int | None
    is_main: bool
    created_from: str | None
    earliest_snapshot_id: int | None
    latest_snapshot_id: int | None
    fork_snapshot_id: int | None = None
    ahead: int | None = None
    behind: int | None = None
    health: str = "ok"


class BranchState(NamedTuple):
    """A row, and the snapshot shared with main that no tag of main holds, if there is one."""

    row: BranchRow
    unheld: Unheld | None


def branch_rows(files: Files, table: TablePath) -> Iterator[BranchRow]:
    """Main first, then the other branches by name. Raises `NotFound` if the table is gone."""
    return (state.row for state in branch_states(files, table))


def branch_states(files: Files, table: TablePath) -> Iterator[BranchState]:
    """As `branch_rows`."""
    main = Side(files, main_root(files, table))
    yield _state(main, None)
    others = [table.root(name) for name in branch_names(files, table) if name != main.root.branch]
    if others:
        states = each_of(partial(_state_if_there, files, main.read()), others)
        yield from (state for state in states if state is not None)


def _state_if_there(files: Files, main: Side, root: Root) -> BranchState | None:
    try:
        return _state(Side(files, root), main)
    except NotFound:
        # It was deleted after the listing.
        return None


def _state(side: Side, main: Side | None) -> BranchState:
    """`main` is None for main itself."""
    root, lineage = side.root, side.lineage
    earliest = lineage.earliest_id()
    fork, unheld = _fork(main, side) if main else (None, None)
    health = _health(lineage.files, root)
    row = BranchRow(
        root.label,
        _create_time(lineage.files, root),
        main is None,
        None if root.branch is None else _created_from(side, earliest),
        earliest,
        lineage.latest_id(),
        fork.snapshot_id if fork else None,
        fork.ahead if fork else None,
        fork.behind if fork else None,
        "unheld" if health == "ok" and unheld else health,
    )
    return BranchState(row, unheld)


def _fork(main: Side, branch: Side) -> tuple[Fork | None, Unheld | None]:
    try:
        fork = find_fork(main, branch)
        return fork, unheld_fork(main, branch, fork)
    except Corrupt:
        # A half-written snapshot must not hide the branch.
        return None, None


def _health(files: Files, root: Root) -> str:
    try:
        return branch_health(files, root)
    except Corrupt:
        return "unreadable"


def _create_time(files: Files, root: Root) -> int | None:
    """The time of the oldest schema file: a root gets it when it is made, and it is never written again."""
    return min((entry.modified for entry in files.entries(root.schemas) if entry.modified), default=None)


def _created_from(side: Side, earliest: int | None) -> str | None:
    tags = in_order_of_makers(name for name, tag in side.tags.items() if tag.id == earliest)
    if not tags:
        return None
    return f"snapshot.{earliest}" if tags[0].startswith(PIN_PREFIXES) else tags[0]
