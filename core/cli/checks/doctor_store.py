"""`paimark doctor` on a store: does it keep conditional writes, and do several writers work at once?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from paimark.core.config import Settings
from paimark.core.errors import Refused, Unavailable
from paimark.core.figures import some_of
from paimark.core.storage.conditions import ROUNDS, WRITERS
from paimark.core.storage.open import keeps_from_stock, open_files
from paimark.core.table.layout import Root
from paimark.core.table.rows import SnapshotRow

# The newest snapshots of a root that are examined to find its writers.
_NEWEST = 200
_LATE = (
    "A request to end a change that comes late, or twice, may end the next: change a table from one place."
)


class Verdict(NamedTuple):
    """`state` is ok, warning or broken."""

    state: str
    detail: str
    hint: str = ""


def conditions(settings: Settings) -> Iterator[Verdict]:
    """Race for scratch files in the warehouse; no verdict if its store needs no proof."""
    if "://" not in settings.warehouse:
        return
    from paimark.core.storage.remote import RemoteFiles

    files = open_files(settings.warehouse, settings.options)
    if not isinstance(files, RemoteFiles) or not files.must_prove:
        return
    if settings.read_only:
        yield Verdict("ok", "not tried in read-only mode", "Without it doctor races for scratch files there.")
        return
    try:
        result = files.race(deletions=True)
        result.require(files.uri)
    except Refused as error:
        yield Verdict("broken", error.message, error.hint)
    except Unavailable as error:
        yield Verdict(
            "warning", f"Whether the store keeps conditional writes is unknown: {error.message}", error.hint
        )
    else:
        yield Verdict("ok", f"kept in {ROUNDS} races of {WRITERS} writers each: changes are safe")
        if result.weakness:
            yield Verdict("warning", f"Deletions are not safe from late requests: {result.weakness}", _LATE)


def writers_at_once(uri: str, root: Root, newest: Sequence[SnapshotRow]) -> Iterator[Verdict]:
    """A warning if several writers alternate in the newest commits of a root on an object store.

    There, stock writers overwrite each other's commits, unless their catalog takes a lock, and Paimark's.
    """
    if keeps_from_stock(uri):
        return
    users = [row.commit_user for row in newest[:_NEWEST]]
    if mixed := sorted(taking_turns(users)):
        yield Verdict(
            "warning",
            f"Several writers commit to it at once ({some_of(mixed)}), and on an object store one can "
            "overwrite another's commit",
            "Give all other writers one catalog that takes locks (lock.enabled). Paimark takes none: make "
            f"its changes while they rest. `paimark verify {root.table.word}` tells what was lost.",
        )


def taking_turns(users: Sequence[str]) -> set[str]:
    """Writers with others' commits between their own, and those others; `users` is in commit order.

    A writer that makes one commit and ends is no evidence that others worked at the same time.
    """
    first, last = dict[str, int](), dict[str, int]()
    for index, user in enumerate(users):
        first.setdefault(user, index)
        last[user] = index
    mixed = set()
    for user in first:
        between = {*users[first[user] : last[user]]} - {user}
        if between:
            mixed |= {user} | between
    return mixed
