"""The snapshot that a write made, once it has ended without an error."""

from __future__ import annotations

from core.errors import NotFound
from core.spark.target import Target
from core.storage.files import Files
from core.table.landed import Landed, find_commit
from core.table.records import Snapshot


def committed(files: Files, target: Target) -> Snapshot | None:
    """None when there was nothing to commit. Raises `NotFound` for one that has expired already."""
    fate = find_commit(files, target.root, target.commit_user, target.known)
    if fate.landed is Landed.UNKNOWN:
        raise NotFound(
            f"What there was to write is in {target.root.table.full_name}, but the snapshot that it made has "
            "expired already",
            "Look at the rows before you run it again.",
        )
    return fate.snapshot
