"""Check that the barrier exists while a branch is main, and only then."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.actions.roots.barrier import has_barrier
from paimark.core.actions.roots.stray_commits import stray_commits
from paimark.core.storage.files import Files
from paimark.core.table.layout import BARRIER_ID, TablePath
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.verify.report import ProblemCause


def barrier_problems(files: Files, table: TablePath) -> Iterator[tuple[ProblemCause, str, str]]:
    """Cause, path and detail; none while a change is unfinished, which may create or delete the barrier.

    Commits of a stale writer may have moved LATEST away from it: `doctor` reports them, and their rescue
    creates the barrier again.
    """
    path, main = table.root().snapshot(BARRIER_ID), main_root(files, table)
    if files.exists(table.journal):
        return
    if main.branch is not None and not has_barrier(files, table) and not stray_commits(files, table):
        yield (
            "missing",
            path,
            f"while branch {main.branch} is main it stops stock sessions that were open, which else read an "
            f"empty table: `paimark auto-savepoint {table.word}` puts it up",
        )
    if main.branch is None and files.exists(path):
        yield (
            "damaged",
            path,
            "no branch is main, and stock engines take it for the newest snapshot: delete it",
        )
