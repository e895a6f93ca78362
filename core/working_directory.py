"""Paths and files that a person names, from the working directory, which may be gone by now."""

from __future__ import annotations

import os

from paimark.core.errors import NotFound, UsageError
from paimark.core.regular_files import read_regular


def absolute(path: str) -> str:
    """The whole path. Raises `UsageError` for a relative one if the working directory is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError as error:
        raise UsageError(
            f"{path} can't be found from here: the working directory was deleted",
            "Write the whole path, or change to another directory first.",
        ) from error


def is_there() -> bool:
    """Whether the working directory exists: Java does not start in one that was deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def read_named(path: str) -> bytes:
    """All of a file that a person named, perhaps with `~`. Raises `NotFound` and `UsageError`."""
    try:
        return read_regular(absolute(os.path.expanduser(path)))
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}") from error
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error


def as_text(data: bytes, path: str) -> str:
    """The text of that file. Raises `UsageError` if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8", "Save it in that encoding.") from error
