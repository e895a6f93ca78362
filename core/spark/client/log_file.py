"""The engine's log, at its place or among the temporary files, and its scratch directory.

Nothing fails because the log can't be written.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO, NamedTuple

from paimark.core.errors import Unavailable, shortened

_LARGEST_LOG = 4 << 20
_STARTS = b"paimark: an engine starts\n"


class Log(NamedTuple):
    """`why` says why it is not at its place; empty if it is."""

    file: IO[bytes]
    path: Path
    why: str = ""

    @property
    def note(self) -> str:
        """A sentence for the user, if the log is somewhere else."""
        return f"{self.why}. The engine's log is {self.path}" if self.why else ""


def open_log(wanted: Path) -> Log:
    """Open the log for more lines. A large one is emptied first."""
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Log(_opened(wanted, 0), wanted)
    except OSError as error:
        why = shortened(f"{wanted} can't be written: {error.strerror or error}")
    try:
        path = Path(tempfile.gettempdir()) / f"paimark-engine-{os.getuid()}.log"
        # Others can make files and links there too.
        return Log(_opened(path, os.O_NOFOLLOW), path, why)
    except OSError:
        nowhere = Path(os.devnull)
        return Log(nowhere.open("wb"), nowhere, why)


def _opened(path: Path, flags: int) -> IO[bytes]:
    """Raises `OSError` if not even one line can be written, as on a full disk."""
    too_large = path.exists() and path.stat().st_size > _LARGEST_LOG
    # Don't block on a pipe that nobody reads. The path may also be a device, to discard the log.
    flags |= os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | (os.O_TRUNC * too_large)
    descriptor = os.open(path, flags, 0o600)
    try:
        if flags & os.O_NOFOLLOW and os.fstat(descriptor).st_uid != os.getuid():
            raise PermissionError(f"{path} is another user's")
        os.write(descriptor, _STARTS)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb", buffering=0)


_TRIES = 20
_BETWEEN_SECONDS = 0.05


def make_scratch() -> Path:
    """Make a directory that only this user can read. Raises `Unavailable`."""
    try:
        return Path(tempfile.mkdtemp(prefix="paimark-engine-"))
    except OSError as error:
        raise Unavailable(
            f"There is no place for temporary files: {error.strerror or error}",
            "Point TMPDIR at a directory that can be written.",
        ) from error


def remove_scratch(path: Path) -> None:
    """Remove the directory. Tries repeatedly, because a process that was just killed may still be writing."""
    for _ in range(_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(_BETWEEN_SECONDS)
        if not path.exists():
            return
