"""The file in which the console keeps choices for the conflicts of a merge, to continue later."""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from pathlib import Path

from paimark.core.config import state_directory
from paimark.core.table.layout import TablePath

# Not longer, because the files contain rows of tables.
_KEPT_DAYS = 30
_LONGEST = 60


def kept_file(warehouse: str, table: TablePath, branch: str) -> str:
    """The file of a branch's conflicts. Removes old files of other branches."""
    directory = state_directory() / "conflicts"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    whole = "\0".join((warehouse, table.full_name, branch))
    named = re.sub(r"[^\w.-]", "_", f"{table.full_name}-{branch}")[:_LONGEST]
    kept = directory / f"{named}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}.jsonl"
    for other in {*directory.glob("*.jsonl")} - {kept}:
        with suppress(OSError):
            _remove_old(other)
    return str(kept)


def _remove_old(path: Path) -> None:
    if time.time() - path.stat().st_mtime > _KEPT_DAYS * 86_400:
        path.unlink()
