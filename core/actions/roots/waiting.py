"""Wait for processes that have listed files about to go, and read them one by one, skipping missing ones.

An expiry would delete files of a tag that it did not read, and `remove_orphan_files` files of a snapshot.
"""

from __future__ import annotations

import time

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item
from paimark.core.actions.roots.root_files import snapshot_ids
from paimark.core.cancelling import check_cancelled
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root

# A process reads at least this many in the time of one wait.
_READ_IN_A_WAIT = 100
# More snapshots than this do not lengthen the wait: it is a minute, the table is locked, and a person waits.
_MOST_SNAPSHOTS = 1_100
_STEP_SECONDS = 0.5


def seconds_of(context: Context, count: int) -> float:
    return context.verify_wait * (1 + count // _READ_IN_A_WAIT)


def wait_for_readers(context: Context, count: int, what: str, progress: Progress) -> None:
    """Wait in case other processes still read `count` of `what` ("tags"). Raises `Cancelled`."""
    seconds = seconds_of(context, count)
    _wait(seconds, f"in case somebody has just listed the {what}", progress)


def wait_for_expiry(seconds: float, progress: Progress) -> None:
    """Wait in case an expiry that has read the tags before is still deleting. Raises `Cancelled`."""
    _wait(seconds, "in case an expiry is deleting now", progress)


def wait_for_writers(context: Context, progress: Progress) -> None:
    """Wait in case other processes have read the newest snapshot and commit on it. Raises `Cancelled`."""
    _wait(context.verify_wait, "in case somebody is committing", progress)


def _wait(seconds: float, why: str, progress: Progress) -> None:
    if seconds:
        progress(f"waiting {seconds:g} s, {why}")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _STEP_SECONDS))
        check_cancelled()


def wait_for_cleanings(context: Context, root: Root, progress: Progress) -> None:
    """Wait in case a stock orphan cleaning reads the snapshots of a root. Raises `Cancelled`."""
    if count := len(snapshot_ids(context.files, root)):
        wait_for_readers(context, min(count, _MOST_SNAPSHOTS), "snapshots", progress)


def seconds_of_cleanings(context: Context, root: Root) -> float:
    """How long `wait_for_cleanings` waits."""
    return seconds_of(context, min(len(snapshot_ids(context.files, root)), _MOST_SNAPSHOTS))


def cleanings_to_stop(files: Files, root: Root) -> list[Item]:
    """What is to be done before a plan for which `wait_for_cleanings` may be too short."""
    if len(snapshot_ids(files, root)) <= _MOST_SNAPSHOTS:
        return []
    return [
        Item(
            "first",
            "let no stock remove_orphan_files run meanwhile: one that has listed the snapshots of "
            f"{root.label} and not read them all takes what they need once they have moved",
            "stop-cleanings",
            is_grave=True,
        )
    ]
