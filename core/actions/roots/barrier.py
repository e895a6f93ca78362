"""The notice and the barrier: by them stock engines fail in the table directory while a branch is main.

The notice stands where they look for the first schema. A session that had the table open remembers its
definition, so the notice does not stop it. Without snapshots it would find an empty table: no rows to read,
and a job that copies them elsewhere empties that. So LATEST names a snapshot that can't be read, the barrier,
and reading and writing fail.
"""

from __future__ import annotations

import re

from core.storage.files import Files
from core.table.layout import BARRIER_ID, Root, TablePath

_HINT = str(BARRIER_ID).encode()


def notice(branch: str) -> bytes:
    """The content of the notice, and of the barrier: one line that is no JSON.

    Stock engines show only its first word in their error, so that word has the whole message.
    """
    word = re.sub(r"\W", "_", branch)
    return (
        f"MAIN_OF_THIS_TABLE_IS_NOW_ITS_BRANCH_{word}: it is read and written as $branch_{branch}. "
        "`paimark undo` makes this directory main again.\n"
    ).encode()


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


def put_before_removal(files: Files, root: Root, becomes: str) -> None:
    """Before a branch is removed, as which it `becomes` something else. It goes with it. Idempotent.

    A stock orphan cleaning that lists its snapshots from now on fails. It may not know of the branch's other
    name, and would take for nobody's what it finds no snapshot of. So does a stock fast-forward, which begins
    with the earliest: it would give main snapshots whose files are going.
    """
    word = re.sub(r"\W", "_", becomes)
    text = f"THIS_BRANCH_IS_{word}_NOW: `paimark recover` removes what is left of it.\n"
    # The hint first: one to a snapshot that is missing is looked past.
    files.replace(root.earliest_hint, _HINT)
    files.create(root.snapshot(BARRIER_ID), text.encode())


def is_marked(files: Files, root: Root) -> bool:
    """Whether a branch is one that goes."""
    return files.exists(root.snapshot(BARRIER_ID))


def unmark(files: Files, root: Root, earliest: bytes | None) -> None:
    """The branch stays after all, and gets the EARLIEST that it had, if any. Idempotent."""
    files.delete(root.snapshot(BARRIER_ID))
    [hint] = files.read_many([root.earliest_hint])
    if hint == _HINT and earliest is not None:
        files.replace(root.earliest_hint, earliest)
    elif hint == _HINT:
        # Engines look for the earliest where nothing names it.
        files.delete(root.earliest_hint)


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
