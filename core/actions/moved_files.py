"""Reading a table whose files a replacement moves at this moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from paimark.core.errors import Corrupt, NotFound

T = TypeVar("T")


def read_again_if_moved(read: Callable[[], T]) -> T:
    """The result of `read`, which only reads. It is called again if it fails on files, which may have moved.

    A replacement puts a notice where main's first schema was, and moves main's snapshots into a branch. The
    second call finds where main is then, and fails as the first one did if the files are lost or damaged.
    """
    try:
        return read()
    except (Corrupt, NotFound):
        return read()
