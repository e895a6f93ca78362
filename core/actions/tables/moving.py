"""What all moves of a table's directory have in common: what prevents them, and who notices."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal
from paimark.core.actions.said import consumers_of, job_that_writes, unit_in
from paimark.core.errors import Corrupt, NotFound
from paimark.core.figures import counted, listed
from paimark.core.storage.files import Files
from paimark.core.storage.open import moves_directories
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, main_root
from paimark.core.table.savepoints import SavepointManager


def move_refusals(context: Context, table: TablePath) -> list[Refusal]:
    """Why the table's directory can't be moved; empty if it can."""
    files = context.files
    if not moves_directories(files.uri):
        return [
            Refusal(
                f"{files.uri} is an object store: it can't move a table in one step, so there is no trash",
                "Take the table out of use with the engine that reads it; a savepoint keeps its rows.",
            )
        ]
    _, _, name = table.directory.rpartition("/")
    entries = files.entries(table.directory.rpartition("/")[0])
    if any(each.name == name and each.is_link for each in entries):
        return [
            Refusal(
                f"{table.directory} is a link: what it leads to would stay where it is",
                "Put the directory itself in its place.",
            )
        ]
    return []


def what_it_has(files: Files, table: TablePath) -> str:
    """`6,600 records, 2 branches and 1 savepoint`."""
    main = main_root(files, table)
    try:
        newest = Lineage(files, main).latest()
    except (Corrupt, NotFound):
        newest = None
    records = newest.total_record_count if newest is not None else 0
    parts = ["its rows" if records is None else counted(records, unit_in(files, main))]
    branches = len(branch_names(files, table))
    savepoints = len(SavepointManager(files, table).ids())
    if branches:
        parts.append(counted(branches, "branch", "branches"))
    if savepoints:
        parts.append(counted(savepoints, "savepoint"))
    return listed(parts)


def noticed_by(context: Context, table: TablePath) -> Iterator[Item]:
    """Who else notices that the table is no longer there."""
    files = context.files
    roots = all_roots(files, table)
    writers = [each for root in roots if (each := job_that_writes(files, root)) is not None]
    if writers:
        newest = max(writers, key=lambda each: each.time)
        yield Item(
            "affects",
            f"{newest.said(table.full_name, context.clock())}: stop it first. A job that goes on writes "
            "into a new directory of the old name",
            "jobs-lose-table",
            newest=newest.time,
        )
    if readers := sorted({name for root in roots for name in consumers_of(files, root)}):
        yield Item(
            "affects",
            f"streaming readers: {listed(readers, 'consumer')}",
            "streaming-readers",
            count=len(readers),
            names=tuple(readers),
        )


def state_of(files: Files, table: TablePath) -> str:
    """The fingerprint of what a plan of a move stands on: the newest snapshot of each root."""
    roots = all_roots(files, table)
    return fingerprint(*(f"{root.label} {Lineage(files, root).latest_id()}" for root in roots))
