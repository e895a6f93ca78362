"""Temporary files, `.<name>.<uuid>`: a killed writer leaves one, as Paimon's do too."""

from __future__ import annotations

import re
from collections.abc import Collection

from core.storage.files import Files

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def meant_for(name: str) -> str | None:
    """The name that a temporary file was to get; None when it is none."""
    match = _TEMPORARY.fullmatch(name)
    return match["name"] if match else None


def delete_temporaries(files: Files, directory: str, names: Collection[str]) -> None:
    """Remove the leftovers of files with these names, which nobody may be writing now."""
    for each in files.names(directory):
        if meant_for(each) in names:
            files.delete(f"{directory}/{each}")
