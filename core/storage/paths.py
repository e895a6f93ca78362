"""The paths that a store accepts: relative, inside the warehouse, and printable."""

from __future__ import annotations

import re

from paimark.core.errors import NotFound, Refused
from paimark.core.text import has_halves, spelled

# A part that is `..`, `.` or empty, an absolute path, a backslash, or a control character.
_HOSTILE = re.compile(r"(?:^|/)(?:\.{0,2}(?:/|$))|[\x00-\x1f\x7f\\]")


def checked(path: str) -> str:
    """The path itself. Raises `Refused` when it could leave the warehouse or garble a terminal."""
    if not is_inside(path):
        raise unwritable(path)
    return path


def unwritable(path: str) -> Refused:
    """The refusal of a path that `is_inside` does not accept: another program gave a file such a name."""
    if has_halves(path):
        return Refused(
            f"{spelled(path)} has a name that is not UTF-8",
            "Look which program made it, and rename it, or remove it if nothing needs it.",
        )
    return Refused(
        f"{spelled(path)} is not a path inside the warehouse", "A name may hold no '..', '/' or '\\'."
    )


def is_inside(path: str) -> bool:
    """Whether `checked` accepts the path."""
    return not (_HOSTILE.search(path) or has_halves(path))


def is_plain(name: str) -> bool:
    """Whether one part of a path needs no further check: a test that is fast enough for 100,000 names."""
    return name.isprintable() and "\\" not in name and name not in ("", ".", "..")


def checked_directory(path: str) -> str:
    """As `checked`, but accepts the empty path, which is the warehouse itself."""
    return checked(path) if path else path


def no_warehouse(uri: str) -> NotFound:
    """The error for an address without a warehouse."""
    return NotFound(f"There is no warehouse at {uri}", "Check the address, or make one: `paimark demo`.")
