"""Paths from the working directory, which somebody may have deleted since this process was started in it."""

from __future__ import annotations

import os

from paimark.core.errors import UsageError


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
