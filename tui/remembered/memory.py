"""What a sitting knows of earlier ones, and what it leaves behind: one small file for all warehouses.

Read in the thread that opens the warehouse, written in threads a little after something changed. Several
consoles may run at once: each reads the file again under a lock and puts only its own changes into it.
Nothing here can fail a sitting: what can't be read is as if it were not there, what can't be written is lost.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from core.config import Settings, state_directory
from core.regular_files import open_regular, read_regular
from core.table.layout import TablePath
from tui.remembered.state import (
    VERSION,
    GridLook,
    Spot,
    State,
    TourState,
    warehouse_key,
    with_look,
    with_spot,
    with_tour,
)

_MOST_BYTES = 1_000_000
# A console that holds the lock writes a few kilobytes: one that takes longer is stopped or on a dead disk.
_PATIENCE = 0.5
Change = Callable[[State], State]


class Unusable(Exception):
    """The file is there and can't be taken; the text says why."""


class Newer(Unusable):
    """A newer version of this program wrote it, and has more in it than this one would keep."""


class Memory:
    """`problem` says what was wrong with the file, once it is loaded."""

    def __init__(self, settings: Settings) -> None:
        self.problem = ""
        self._settings = settings
        self._path = state_directory() / "remembered.json"
        self._state = State()
        # By what they change: a later one takes the place of an earlier one.
        self._changes: dict[object, Change] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """For the thread that opens: read what is remembered."""
        try:
            self._state = _read(self._path)
        except Unusable as error:
            self.problem = f"What was remembered is not used: {error}"

    @property
    def spot(self) -> Spot | None:
        """Where one left off in this warehouse."""
        here = self._state.warehouses.get(self._key)
        return here.spot if here is not None and self._settings.resume else None

    @property
    def tour(self) -> TourState | None:
        """How far the tour is that was begun in this warehouse."""
        here = self._state.warehouses.get(self._key)
        return None if here is None else here.tour

    @property
    def sidebar(self) -> int | None:
        """The width of the tables, in cells."""
        return self._state.sidebar

    def look(self, table: TablePath, tab: str) -> GridLook:
        """How a tab of a table was looked at."""
        here = self._state.warehouses.get(self._key)
        known = None if here is None else here.tables.get(table.full_name)
        return GridLook() if known is None else known.looks.get(tab, GridLook())

    def keep_spot(self, spot: Spot) -> None:
        self._keep("spot", lambda state: with_spot(state, self._key, spot, _now_ms()))

    def keep_tour(self, tour: TourState | None) -> None:
        self._keep("tour", lambda state: with_tour(state, self._key, tour, _now_ms()))

    def keep_sidebar(self, width: int | None) -> None:
        self._keep("sidebar", lambda state: msgspec.structs.replace(state, sidebar=width))

    def keep_look(self, table: TablePath, tab: str, look: GridLook) -> None:
        name = table.full_name
        self._keep((name, tab), lambda state: with_look(state, self._key, name, tab, look, _now_ms()))

    def save_soon(self) -> None:
        """Write what changed, in a thread."""
        if self._changes:
            threading.Thread(target=self.save, name="paimark-remember", daemon=True).start()

    def save(self) -> None:
        """Write what changed. A disk that is full or read-only must not stop anybody."""
        with self._lock:
            changes, self._changes = self._changes, {}
        if changes:
            with suppress(OSError, Unusable, UnicodeError):
                _rewrite(self._path, list(changes.values()))

    @property
    def _key(self) -> str:
        return warehouse_key(self._settings.warehouse)

    def _keep(self, what: object, change: Change) -> None:
        with self._lock:
            self._state = change(self._state)
            self._changes[what] = change


def _now_ms() -> int:
    return int(time.time() * 1000)


def _read(path: Path) -> State:
    """An empty one when there is none. Raises `Unusable`."""
    try:
        data = read_regular(path)
        if len(data) > _MOST_BYTES:
            raise Unusable(f"{path} is too large")
        version = msgspec.json.decode(data, type=_Versioned).version
        if version > VERSION:
            raise Newer(f"{path} was written by a newer Paimark")
        return msgspec.json.decode(data, type=State)
    except FileNotFoundError:
        return State()
    except OSError as error:
        raise Unusable(f"{path} can't be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unusable(f"{path} is not as expected: {error}") from error


class _Versioned(msgspec.Struct):
    version: int = VERSION


def _rewrite(path: Path, changes: list[Change]) -> None:
    """Raises `OSError`, and `Unusable` where somebody holds the lock for long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_suffix(".lock")):
        data = _changed(_readable(path), changes)
        if len(data) > _MOST_BYTES:
            data = _changed(State(), changes)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        descriptor = open_regular(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _readable(path: Path) -> State:
    """The file, or an empty one in the place of a broken one. Raises `Newer`."""
    try:
        return _read(path)
    except Newer:
        raise
    except Unusable:
        return State()


def _changed(state: State, changes: list[Change]) -> bytes:
    for change in changes:
        state = change(state)
    return msgspec.json.encode(state)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Unusable(f"{path} is locked") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
