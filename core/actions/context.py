"""The context of an action: the warehouse, the user, where progress and the audit log go; how far it is."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from paimark.core.cancelling import check_cancelled
from paimark.core.config import Settings, state_directory
from paimark.core.durations import parse_duration
from paimark.core.figures import whole_seconds
from paimark.core.processes import user_name
from paimark.core.storage.files import Files
from paimark.core.storage.known_options import RECOVER_WAIT_OPTION, VERIFY_WAIT_OPTION
from paimark.core.storage.late_requests import NONE_LATE, LateRequests, late_requests
from paimark.core.storage.open import open_files
from paimark.core.table.lineage.notes import NO_NOTE, Note, checked

if TYPE_CHECKING:
    from paimark.core.spark.client.client import Engine

# An action reports each step as it ends, one line each.
Progress = Callable[[str], None]
T = TypeVar("T")

_EVERY_SECONDS = 2.0


class Remark(str):
    """A line that a person must be able to read afterwards, even if nobody watched."""

    __slots__ = ()


class Counting(str):
    """The state of a count: the next line replaces it."""

    __slots__ = ()


def _unheard(line: str) -> None:
    return


_VERIFY_WAIT = 5.0
# The `audit_path` for changes that need no audit: samples, and tables in memory.
NO_AUDIT = Path(os.devnull)
# Six heartbeats: a process that misses them all is dead, or so slow that the journal stops it.
_WATCH_FOR, _BEAT_EVERY = 60.0, 10.0


@dataclass(frozen=True)
class Context:
    """`clock` gives epoch milliseconds. `options` are Paimon catalog options and may hold secrets.

    `verify_wait` is the number of seconds between the two checks of a snapshot that may be expiring.
    `watch_for` is how many seconds another machine's process is watched before it counts as dead,
    `beat_every` the seconds between this process's heartbeats. `engine` gives the Spark engine that rewrites
    rows; without it an action starts and ends one. `late` tells for how long the store may do what
    was given up. `progress` is told how far the planning is. `note` is what a person says of a change that is
    applied; of one that is planned, if nothing else is said. `counts`: somebody reads the plan before he
    agrees, so that rows are counted for it; else metadata say at most how many.
    """

    files: Files
    read_only: bool
    user: str
    host: str
    audit_path: Path
    clock: Callable[[], int]
    options: Mapping[str, str] = field(repr=False)
    verify_wait: float = _VERIFY_WAIT
    watch_for: float = _WATCH_FOR
    beat_every: float = _BEAT_EVERY
    late: LateRequests = NONE_LATE
    engine: Callable[[], Engine] | None = None
    progress: Progress = _unheard
    note: Note = NO_NOTE
    counts: bool = True


def context_of(settings: Settings, engine: Callable[[], Engine] | None = None) -> Context:
    """As `open_context`, of an application. Raises `UsageError` for its author too."""
    note = checked("", settings.author)
    return replace(open_context(settings.warehouse, settings.options, settings.read_only, engine), note=note)


def open_context(
    uri: str, options: Mapping[str, str], read_only: bool, engine: Callable[[], Engine] | None = None
) -> Context:
    """A context on the warehouse at `uri`, for this process's user. Raises `UsageError` for a bad option."""
    wait, late = options.get(VERIFY_WAIT_OPTION), options.get(RECOVER_WAIT_OPTION)
    return Context(
        files=open_files(uri, options),
        read_only=read_only,
        user=user_name(),
        host=socket.gethostname(),
        audit_path=state_directory() / "audit.jsonl",
        clock=lambda: time.time_ns() // 1_000_000,
        options=options,
        verify_wait=_VERIFY_WAIT if wait is None else parse_duration(wait) / 1000,
        late=late_requests(uri) if late is None else LateRequests(parse_duration(late) / 1000),
        engine=engine,
    )


class Estimate:
    """Calls `progress` with `read 12 of 400 manifests, 30 s left`: `did` is `read`, `what` is `manifests`.

    It reports nothing for work that ends soon.
    """

    def __init__(self, total: int, what: str, progress: Callable[[str], None], did: str = "read") -> None:
        self._total = total
        self._what = what
        self._did = did
        self._progress = progress
        self._started = self._told_at = time.monotonic()

    def tell(self, done: int) -> None:
        """Report that `done` items are done. Raises `Cancelled` when the work is cancelled."""
        check_cancelled()
        now = time.monotonic()
        if now - self._told_at < _EVERY_SECONDS:
            return
        self._told_at = now
        left = f", {whole_seconds((now - self._started) / done * (self._total - done))} left" if done else ""
        self._progress(Counting(f"{self._did} {done:,} of {self._total:,} {self._what}{left}"))


def with_progress(items: Iterable[T], total: int, what: str, progress: Callable[[str], None]) -> Iterator[T]:
    """Yield the items, and report them to `progress` by an `Estimate`.

    To stop the work, `progress` raises, or the work is cancelled.
    """
    estimate = Estimate(total, what, progress)
    for done, item in enumerate(items):
        estimate.tell(done)
        yield item
