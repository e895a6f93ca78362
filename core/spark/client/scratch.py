"""The engine's scratch directory: Spark's settings, which may contain secrets, its blocks and sockets."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from paimark.core.errors import Unavailable

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
