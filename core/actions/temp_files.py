"""Temporary files, `.<name>.<uuid>`: a killed writer leaves one, as Paimon's writers do.

Also: reading again what a replacement moves at this moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.files import Files

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def meant_for(name: str) -> str | None:
    """The intended name of a temporary file; None for another file."""
    match = _TEMPORARY.fullmatch(name)
    return match["name"] if match else None


def delete_temporaries(files: Files, directory: str, names: Collection[str]) -> None:
    """Remove temporary files for these names; no process may be writing them now."""
    for each in files.names(directory):
        if meant_for(each) in names:
            files.delete(f"{directory}/{each}")


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
