"""`paimark doctor` on a store: does it keep conditional writes, and do several writers work at once?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from paimark.core.config import Settings
from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.conditions import THOROUGH
from paimark.core.storage.known_options import LOCK_ENABLED, METASTORE
from paimark.core.storage.open import open_files
from paimark.core.table.layout import Root
from paimark.core.table.rows import SnapshotRow

# The newest snapshots of a root that are examined to find its writers.
_NEWEST = 200
# Stores where a rename fails if its target exists, and the local disk.
_RENAMING = ("hdfs", "viewfs", "file")
# Catalogs whose server makes the commits, or that take locks unless told not to.
_LOCKING = ("rest", "jdbc")


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
        result = files.race(THOROUGH)
        result.require(files.uri)
    except Refused as error:
        yield Verdict("broken", error.message, error.hint)
    except Unavailable as error:
        yield Verdict(
            "warning", f"Whether the store keeps conditional writes is unknown: {error.message}", error.hint
        )
    else:
        race = result.race
        yield Verdict("ok", f"kept in {race.rounds} races of {race.writers} writers each: changes are safe")


def writers_at_once(
    uri: str, options: Mapping[str, str], root: Root, newest: Sequence[SnapshotRow]
) -> Iterator[Verdict]:
    """A warning if several writers alternate in the newest commits of a root on an object store.

    There, stock writers overwrite each other's commits and Paimark's, unless their catalog takes a lock.
    """
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme in _RENAMING or _takes_locks(options):
        return
    users = [row.commit_user for row in newest[:_NEWEST]]
    if mixed := sorted(taking_turns(users)):
        named = ", ".join(mixed[:3]) + (f" and {len(mixed) - 3} more" if len(mixed) > 3 else "")
        yield Verdict(
            "warning",
            f"Several writers commit to it at once ({named}), and on an object store one can overwrite "
            "another's commit",
            "Give every writer a catalog that takes locks (lock.enabled); `paimark verify "
            f"{root.table.word}` tells what was lost.",
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


def _takes_locks(options: Mapping[str, str]) -> bool:
    lock_option = options.get(LOCK_ENABLED, "").strip().lower()
    return lock_option == "true" or (options.get(METASTORE, "") in _LOCKING and lock_option != "false")
