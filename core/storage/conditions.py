"""Whether a store keeps the conditions of writes: if several writers create one file, does one win?

Some stores accept a condition and ignore it, others check first and then write. Only a race shows that. So
before the first change to a store several writers create the same scratch file at once, a few times.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from paimark.core.errors import FileMissing, Refused
from paimark.core.storage.files import DirectoryEntry

# Scratch files are below this directory of the warehouse, those of each race in a directory of its own.
SCRATCH = ".paimark-scratch"
_UUID, _FILE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), re.compile(r"race-\d{1,3}")
_ABANDONED_AFTER = 24 * 3600 * 1000
_ADVICE = (
    "Read it here, and make changes through a store that keeps the conditions of writes (If-None-Match)."
)


class Raced(Protocol):
    """The calls of a store that a race uses. Paths are relative to the warehouse."""

    @property
    def uri(self) -> str: ...

    def put_new(self, path: str, data: bytes) -> bool:
        """Create a file on the condition that there is none; return whether the store says that it did."""

    def put_over(self, path: str, data: bytes, etag: str) -> bool | None:
        """Replace a file on the condition that it has this etag; None if the store has no such condition."""

    def etag_of(self, path: str) -> str | None:
        """The etag of a file; None if it has none."""

    def entries(self, directory: str) -> list[DirectoryEntry]: ...

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]: ...

    def replace(self, path: str, data: bytes) -> None: ...

    def delete(self, path: str) -> None: ...


class Race(NamedTuple):
    """The number of rounds, and of the writers that create one file at once in each."""

    rounds: int
    writers: int


# Before the first change of a process, and when a person asks.
QUICK, THOROUGH = Race(3, 4), Race(8, 8)


class Conditions(NamedTuple):
    """The result of the races. `fault` says why no change is safe there; empty if there is no fault."""

    race: Race
    fault: str = ""

    def require(self, uri: str) -> None:
        """Raises `Refused` if the store does not keep conditions."""
        if self.fault:
            raise Refused(f"{uri} can't be changed safely: {self.fault}", _ADVICE)


def raced(store: Raced, race: Race) -> Conditions:
    """Race for scratch files, and delete them. Raises `Unavailable`."""
    directory = f"{SCRATCH}/{uuid.uuid4()}"
    paths = [f"{directory}/race-{number}" for number in range(race.rounds)]
    try:
        outcome = Conditions(race, _fault(store, paths, race.writers))
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


def _fault(store: Raced, paths: list[str], writers: int) -> str:
    won = ""
    for path in paths:
        winners = _winners(store, path, writers)
        if len(winners) > 1:
            return f"of {writers} writers that created one file at once {len(winners)} won"
        if winners:
            [there] = store.read_many([path])
            if there != winners[0]:
                return "a file that was created holds what another writer wrote"
            won = path
    return _stale_fault(store, won) if won else "of several writers that create one file at once none wins"


def _winners(store: Raced, path: str, writers: int) -> list[bytes]:
    """The contents written by the writers that were told that they created the file."""
    start = threading.Barrier(writers)

    def create(number: int) -> bytes | None:
        data = f"{number} {uuid.uuid4()}".encode()
        start.wait()
        try:
            return data if store.put_new(path, data) else None
        except FileMissing:
            # The store says that another writer was faster, but has no file.
            return None

    with ThreadPoolExecutor(writers) as threads:
        return [data for data in threads.map(create, range(writers)) if data is not None]


def _stale_fault(store: Raced, path: str) -> str:
    """The fault of replacing a file that has changed since the writer saw it; empty if there is none."""
    etag = store.etag_of(path)
    store.replace(path, b"another")
    if etag is not None and store.put_over(path, b"late", etag):
        return "it replaced a file that another writer had replaced in between (it ignores If-Match)"
    return ""


class Proofs:
    """The stores that passed a race in this process. A store that failed is raced again."""

    def __init__(self) -> None:
        self._proven: set[str] = set()
        self._lock = threading.Lock()

    def require(self, key: str, uri: str, look: Callable[[], Conditions]) -> None:
        """Raises `Refused` if the store named by `key` does not keep conditions."""
        if key in self._proven:
            return
        with self._lock:
            if key not in self._proven:
                look().require(uri)
                self._proven.add(key)


PROOFS = Proofs()
