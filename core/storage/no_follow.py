"""Open the directory of a file to write or delete, without following a link inside a table.

Each directory is opened relative to its parent, so that no process can put a link in its place meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from paimark.core.errors import Refused

# A warehouse's owner may put a database or a table on another disk by a link. Users of a table can write
# links into it, and need not be allowed to change files outside it.
_MAY_BE_LINKS = 2
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def parent_directory(root: str, path: str, *, making: bool = False) -> Iterator[int]:
    """A descriptor of the directory that holds the file at `path`, which is relative to `root`.

    `making` creates the directories that are missing, but not `root`: a process that goes on writing after
    somebody moved the warehouse, or unmounted its disk, must not begin another one in its place. Raises
    `OSError`, and `Refused` for a link on the way.
    """
    *directories, _ = path.split("/")
    top = "/".join([root, *directories[:_MAY_BE_LINKS]])
    if making and os.path.isdir(root):
        os.makedirs(top, exist_ok=True)
    descriptor = os.open(top, _DIRECTORY)
    try:
        for depth in range(_MAY_BE_LINKS, len(directories)):
            below = _below(descriptor, directories, depth, making=making)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def link_in_the_way(path: str) -> Refused:
    """The refusal of a change because of the link at `path`."""
    return Refused(
        f"{path} is a link: nothing is changed through it",
        "Put the directory itself in its place, or remove the link.",
    )


def _below(descriptor: int, directories: list[str], depth: int, *, making: bool) -> int:
    name = directories[depth]
    if making:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=descriptor)
    try:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
    except OSError as error:
        # Systems differ in which of the two errors they return for a link.
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, descriptor):
            raise link_in_the_way("/".join(directories[: depth + 1])) from error
        raise


def _is_link(name: str, descriptor: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=descriptor).st_mode)
    except FileNotFoundError:
        return False
