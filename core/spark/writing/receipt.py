"""Find the snapshot that a write made, after it has ended without an error.

Spark returns nothing from the process that commits. So that process leaves a receipt, a local file with the
snapshot's content. Without it a missing commit could be an empty one, or one that another writer overwrote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from paimark.core.errors import NotFound
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.storage.open import require_conditions
from paimark.core.table.landed import Landed, find_commit
from paimark.core.table.lineage.commits import note_last, overwritten, require_last_commit
from paimark.core.table.records import Snapshot


@contextmanager
def with_receipt(files: Files, target: WriteTarget) -> Iterator[WriteTarget]:
    """The target with a path for its receipt. Raises `Overwritten` for the last commit of this process.

    Raises `Refused` if the store ignores conditions of writes, before anything is written.
    """
    require_conditions(files)
    require_last_commit(files, target.root)
    with tempfile.TemporaryDirectory(prefix="paimark-receipt-") as directory:
        yield msgspec.structs.replace(target, receipt=f"{directory}/snapshot")


def leave_receipt(files: Files, target: WriteTarget, snapshot_json: bytes) -> None:
    """Record the commit, for the process that waits for the write, and for this process's next commit."""
    note_last(files, target.root, Snapshot.from_json(snapshot_json, "the commit").id, snapshot_json)
    if target.receipt is not None:
        with suppress(OSError):
            Path(target.receipt).write_bytes(snapshot_json)


def find_written(files: Files, target: WriteTarget) -> Snapshot | None:
    """The snapshot of the write; None if there was nothing to commit.

    Raises `NotFound` if it has expired already, and `Overwritten`.
    """
    fate = find_commit(files, target.root, target.commit_user, target.known)
    receipt = Path(target.receipt) if target.receipt is not None else None
    if receipt is not None and receipt.exists():
        data = receipt.read_bytes()
        written = Snapshot.from_json(data, "the receipt")
        if fate.landed is Landed.NO or written.id in fate.overwritten:
            raise overwritten(target.root, written.id)
        note_last(files, target.root, written.id, data)
    if fate.overwritten:
        raise overwritten(target.root, fate.overwritten[0])
    if fate.landed is Landed.UNKNOWN:
        raise NotFound(
            f"What there was to write is in {target.name}, but the snapshot that it made has expired already",
            "Look at the rows before you run it again.",
        )
    return fate.snapshot
