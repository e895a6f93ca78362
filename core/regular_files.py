"""Open files of this machine by name without waiting, even if there is a pipe instead of a file."""

from __future__ import annotations

import errno
import os
import stat

_NEVER_WAIT = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def is_in_the_way(path: str | os.PathLike[str]) -> bool:
    """Whether the path exists and is neither a file nor a link to one: a pipe, device, directory."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def open_regular(path: str | os.PathLike[str], flags: int) -> int:
    """A descriptor, opened without waiting. Raises `OSError`, also if it is no regular file."""
    try:
        descriptor = os.open(path, flags | _NEVER_WAIT, 0o600)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"it is no name of a file: {error}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """All of a file. Raises `OSError`, also if it is no regular file."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()
