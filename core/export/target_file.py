"""Check that a result file can be written, before the statement runs that gives its rows."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from paimark.core.errors import UsageError
from paimark.core.regular_files import is_in_the_way
from paimark.core.working_directory import absolute

_HINT = "Name a file in a directory that exists and may be written to."


def target_file(path: Path) -> Path:
    """The file itself, where links lead to it. Raises `UsageError` if it can't be written."""
    target = Path(os.path.realpath(absolute(str(path))))
    if is_in_the_way(target):
        kind = "a directory" if target.is_dir() else "no regular file"
        raise UsageError(f"{path} is {kind}, and is not written over", _HINT)
    try:
        _require_possible(target)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}", _HINT) from error
    return target


def _require_possible(target: Path) -> None:
    # Raises for a name that is too long.
    with suppress(FileNotFoundError):
        target.stat()
        if not os.access(target, os.W_OK):
            raise PermissionError("it may not be changed")
    # As `ResultFile` does it: beside the target, which stays as it is until all rows are written.
    tried = target.with_name(f".paimark-{uuid.uuid4().hex}")
    tried.open("xb").close()
    tried.unlink()
