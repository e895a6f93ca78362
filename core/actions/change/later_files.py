"""What others wrote after a change could no longer be taken back: its plan did not see that."""

from __future__ import annotations

from collections.abc import Collection

from paimark.core.actions.change.journal import COMMITTED, Hold, JournaledChange
from paimark.core.storage.files import Files, written_at
from paimark.core.table.layout import TablePath


def written_later(
    files: Files, table: TablePath, journaled: JournaledChange, paths: Collection[str]
) -> set[str]:
    """Those of the files that were written after the point of no return, by the store's clock."""
    number = 1 + [each.step for each in journaled.entries].index(COMMITTED)
    committed = table.journal_step(journaled.journal.token, number)
    written = written_at(files, [committed, *paths])
    since = written.pop(committed, 0)
    return {path for path, at in written.items() if at > since}


def others_since(hold: Hold, paths: Collection[str]) -> set[str]:
    """`written_later` in a recovery. Empty for the process that began the change, and has just looked."""
    if not hold.is_recovery:
        return set()
    return written_later(hold.context.files, hold.table, hold.journaled, paths)
