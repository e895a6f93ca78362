"""Wait for whoever has just listed what is to go, and reads it file by file: what is gone it leaves out.

An expiry then takes what a tag held that it did not read, and `remove_orphan_files` what a snapshot needed.
"""

from __future__ import annotations

import time

from core.actions.context import Context, Progress
from core.cancelling import check_cancelled
from core.storage.files import Files
from core.table.layout import SNAPSHOT_PREFIX, Root
from core.table.reading import numbered

# So many are surely read in the time of one wait.
_READ_IN_A_WAIT = 100
# For more snapshots nobody waits: that is a minute, with the table taken and somebody looking on.
_MOST_SNAPSHOTS = 1_100
_STEP_SECONDS = 0.5


def seconds_of(context: Context, count: int) -> float:
    return context.verify_wait * (1 + count // _READ_IN_A_WAIT)


def wait_for_readers(context: Context, count: int, what: str, progress: Progress) -> None:
    """`count` of `what` ("tags") may be read still. Raises `Cancelled`."""
    seconds = seconds_of(context, count)
    if seconds:
        progress(f"waiting {seconds:g} s, in case somebody has just listed the {what}")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _STEP_SECONDS))
        check_cancelled()


def wait_for_cleanings(context: Context, count: int, progress: Progress) -> None:
    """A stock orphan cleaning may have listed so many snapshots, and read them. Raises `Cancelled`."""
    wait_for_readers(context, min(count, _MOST_SNAPSHOTS), "snapshots", progress)


def cleanings_to_stop(files: Files, root: Root) -> list[str]:
    """What a plan says where `wait_for_cleanings` may be too short."""
    if len(numbered(files.names(root.snapshots), SNAPSHOT_PREFIX)) <= _MOST_SNAPSHOTS:
        return []
    return [
        f"Let no stock remove_orphan_files run meanwhile: one that has listed the snapshots of {root.label} "
        "and not read them all would take what they need when they moved"
    ]
