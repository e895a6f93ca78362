"""Whether a store keeps the conditions of writes: if several writers create one file, does one win?

Some stores accept a condition and ignore it, others check first and then write. Only a race shows that. So
before the first change to a store several writers create the same scratch file at once, a few times, then
replace it on the condition that it is as they saw it. Few races are won by chance: of a store that writes
half a millisecond after it looked, 3 rounds of 4 writers found nothing in one of six tries, nor did 2 rounds
of 8, and these rounds always did.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

from paimark.core.errors import FileMissing, Refused
from paimark.core.storage.files import DirectoryEntry

# Scratch files are below this directory of the warehouse, those of each race in a directory of its own.
SCRATCH = ".paimark-scratch"
# The rounds, and the writers of one file at once in each.
ROUNDS, WRITERS = 8, 8
_UUID, _FILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), re.compile(r"race-\d{1,3}")
_ABANDONED_AFTER = 24 * 3600 * 1000
# Another server may have the address of one that was raced, if nobody wrote there for so long.
_HOLDS_SECONDS = 600.0
_ADVICE = (
    "Read it here, and make changes through a store that keeps the conditions of writes (If-None-Match)."
)
_LOST = "a file that was created is not there"

Calls = Sequence[Callable[[], object]]


class Raced(Protocol):
    """The calls of a store that a race uses. Paths are relative to the warehouse."""

    @property
    def uri(self) -> str: ...

    def put_new(self, path: str, data: bytes) -> bool:
        """Create a file on the condition that there is none; return whether the store says that it did."""

    def put_over(self, path: str, data: bytes, etag: str) -> bool | None:
        """Replace a file on the condition that it has this etag; None if the store has no such condition."""

    def delete_if(self, path: str, etag: str) -> bool | None:
        """Delete a file on the condition that it has this etag; None if the store has no such condition."""

    def etag_of(self, path: str) -> str | None:
        """The etag of a file; empty if the store gives none, None if there is no file."""

    def entries(self, directory: str) -> list[DirectoryEntry]: ...

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]: ...

    def replace(self, path: str, data: bytes) -> None: ...

    def delete(self, path: str) -> None: ...


class Conditions(NamedTuple):
    """The result of the races: empty texts for a store that keeps all conditions.

    `fault` says why no change is safe there. `weakness`, asked for by `doctor`, is a condition of deletions
    that it does not keep: then a request to end a change, carried out late, may end the next one.
    """

    fault: str = ""
    weakness: str = ""

    def require(self, uri: str) -> None:
        """Raises `Refused` if the store does not keep the conditions of writes."""
        if self.fault:
            raise Refused(f"{uri} can't be changed safely: {self.fault}", _ADVICE)


def raced(store: Raced, *, deletions: bool) -> Conditions:
    """Race for scratch files, of deletions too if they matter, and delete them. Raises `Unavailable`."""
    directory = f"{SCRATCH}/{uuid.uuid4()}"
    paths = [f"{directory}/race-{number}" for number in range(ROUNDS)]
    try:
        outcome = _outcome(store, paths, deletions)
        _sweep(store, directory)
        return outcome
    finally:
        for path in paths:
            store.delete(path)


def _sweep(store: Raced, directory: str) -> None:
    """Delete files left by killed races: those older than a day by the store's own clock."""
    now = max((each.modified for each in store.entries(directory)), default=0)
    for other in store.entries(SCRATCH):
        if not other.is_directory or not _UUID.fullmatch(other.name):
            continue
        for each in store.entries(f"{SCRATCH}/{other.name}"):
            if _FILE.fullmatch(each.name) and each.modified and now - each.modified > _ABANDONED_AFTER:
                store.delete(f"{SCRATCH}/{other.name}/{each.name}")


def _outcome(store: Raced, paths: Sequence[str], deletions: bool) -> Conditions:
    created = []
    for path in paths:
        winners = _winners(partial(store.put_new, path))
        if len(winners) > 1:
            return Conditions(f"of {WRITERS} writers that created one file at once {len(winners)} won")
        if winners:
            if _content(store, path) != winners[0]:
                return Conditions("a file that was created holds what another writer wrote")
            created.append(path)
    if not created:
        return Conditions("of several writers that create one file at once none wins")
    fault = _replacement_fault(store, created)
    if fault or not deletions:
        return Conditions(fault)
    return Conditions(weakness=_deletion_fault(store, created))


def _replacement_fault(store: Raced, paths: Sequence[str]) -> str:
    """The fault of replacing files under If-Match; empty if there is none, or no such condition."""
    for number, path in enumerate(paths):
        etag = store.etag_of(path)
        if etag is None:
            return _LOST
        if not number:
            store.replace(path, b"another")
            is_late = store.put_over(path, b"late", etag or '"none"')
            if is_late is None:
                return ""
            if is_late:
                return "it replaced a file that another writer had replaced in between (it ignores If-Match)"
            if not etag:
                return "it gives a file no etag, so that nobody can tell whether another replaced it"
            continue
        winners = _winners(partial(store.put_over, path, etag=etag))
        if len(winners) > 1:
            return f"of {WRITERS} writers that replaced one file at once {len(winners)} won (If-Match)"
        if winners and _content(store, path) != winners[0]:
            return "a file that was replaced holds what another writer wrote (If-Match)"
    return ""


def _deletion_fault(store: Raced, paths: Sequence[str]) -> str:
    """The same for deletions: whoever saw an earlier file must not delete the later one."""
    for number, path in enumerate(paths):
        etag = store.etag_of(path)
        if not etag:
            return _LOST
        if not number:
            store.replace(path, b"newer")
            is_late = store.delete_if(path, etag)
            if is_late is None:
                return ""
            if is_late:
                return "it deletes a file that another writer has replaced in between (it ignores If-Match)"
            continue
        late: Calls = [partial(store.delete_if, path, etag)] * (WRITERS - 1)
        _at_once([*late, partial(store.replace, path, b"newer")])
        if _content(store, path) != b"newer":
            return "it looks at a file before it deletes it, and deletes what another wrote meanwhile"
    return ""


def _content(store: Raced, path: str) -> bytes | None:
    [there] = store.read_many([path])
    return there


def _winners(write: Callable[[bytes], bool | None]) -> list[bytes]:
    """The contents written by the writers that were told that they were the first."""
    contents = [f"{number} {uuid.uuid4()}".encode() for number in range(WRITERS)]

    def is_first(data: bytes) -> bool | None:
        try:
            return write(data)
        except FileMissing:
            # The store says that another writer was faster, but has no file.
            return False

    told = _at_once([partial(is_first, data) for data in contents])
    return [data for data, is_told in zip(contents, told, strict=True) if is_told]


def _at_once(calls: Calls) -> list[object]:
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


class Proofs:
    """The stores that passed the races in this process, and were written to not long ago.

    A store that failed is raced again.
    """

    def __init__(self) -> None:
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def require(self, key: str, uri: str, look: Callable[[], Conditions]) -> None:
        """Raises `Refused` if the store named by `key` does not keep the conditions of writes."""
        if not self._holds(key):
            with self._lock:
                if not self._holds(key):
                    look().require(uri)
        self._used[key] = time.monotonic()

    def _holds(self, key: str) -> bool:
        used = self._used.get(key)
        return used is not None and time.monotonic() - used < _HOLDS_SECONDS


PROOFS = Proofs()
