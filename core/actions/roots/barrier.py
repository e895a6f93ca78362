"""The barrier: makes a session fail that had the table open when a branch became main.

Such a session remembers the table's definition, so the notice in `schema/` does not stop it. Without
snapshots it would find an empty table: no rows to read, and a job that copies them elsewhere empties that. So
LATEST names a snapshot that can't be read, and reading and writing fail.
"""

from __future__ import annotations

from core.actions.roots.notices import notice
from core.storage.files import Files
from core.table.layout import BARRIER_ID, TablePath

_HINT = str(BARRIER_ID).encode()


def put_barrier(files: Files, table: TablePath, main: str) -> None:
    """Put it up while branch `main` is main. Idempotent."""
    own = table.root()
    path, hint = own.snapshot(BARRIER_ID), own.latest_hint
    there, latest = files.read_many([path, hint])
    # The snapshot first: a hint to one that is missing is looked past.
    if there != notice(main):
        files.replace(path, notice(main))
    if latest != _HINT:
        files.replace(hint, _HINT)


def remove_barrier(files: Files, table: TablePath, latest: bytes | None) -> None:
    """Take it down when the table directory is main again, and restore its LATEST. Idempotent."""
    own = table.root()
    [hint] = files.read_many([own.latest_hint])
    if hint == _HINT and latest is not None:
        files.replace(own.latest_hint, latest)
    elif hint == _HINT:
        files.delete(own.latest_hint)
    files.delete(own.snapshot(BARRIER_ID))


def has_barrier(files: Files, table: TablePath) -> bool:
    """Whether it stands whole."""
    own = table.root()
    there, latest = files.read_many([own.snapshot(BARRIER_ID), own.latest_hint])
    return there is not None and latest == _HINT
