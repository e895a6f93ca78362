"""The state that a session takes from earlier ones and leaves to later ones, in one small file.

The thread that opens the warehouse reads it; threads write it soon after a change. Several consoles may run
at once: each reads the file again under a lock, and adds only its own changes. No error here ends a session:
an unreadable file is ignored, and changes that can't be written are lost.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from paimark.core.config import Settings, state_directory
from paimark.core.redaction import redacted, without_secrets
from paimark.core.regular_files import open_regular, read_regular
from paimark.core.table.layout import TablePath

VERSION = 1
# Beyond these limits the least recently used entries are dropped.
_MOST_WAREHOUSES, _MOST_TABLES, _MOST_COLUMNS = 30, 100, 200
T = TypeVar("T", bound="TableState | WarehouseState")


class GridLook(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a tab's grid, by column names: the chosen `order` and `hidden` columns, `widths` in
    cells, and in `sort` the column that the rows are sorted by, or empty."""

    order: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    widths: dict[str, int] = {}
    sort: str = ""
    descending: bool = False


class Spot(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last location. `tab` is a tab's name in lower case."""

    database: str
    table: str
    branch: str | None = None
    tab: str = "snapshots"


class TourState(msgspec.Struct, frozen=True):
    """The progress of the tour of the demo: the step's name, and the branch that the person made."""

    step: str
    branch: str


class TableState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`used` is epoch milliseconds; `looks` are by tab."""

    used: int = 0
    looks: dict[str, GridLook] = {}


class WarehouseState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`used` is epoch milliseconds; `tables` are by `database.table`, with backticks if needed."""

    used: int = 0
    spot: Spot | None = None
    tour: TourState | None = None
    tables: dict[str, TableState] = {}


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file. `warehouses` are by `warehouse_key`; `sidebar` is the width of the tables, in cells."""

    version: int = VERSION
    sidebar: int | None = None
    warehouses: dict[str, WarehouseState] = {}


def warehouse_key(address: str) -> str:
    """A warehouse's key in the file: its address without secrets."""
    return redacted(without_secrets(address)).rstrip("/")


def with_spot(state: State, key: str, spot: Spot, now_ms: int) -> State:
    known = state.warehouses.get(key, WarehouseState())
    return _with_warehouse(state, key, msgspec.structs.replace(known, spot=spot, used=now_ms))


def with_tour(state: State, key: str, tour: TourState | None, now_ms: int) -> State:
    known = state.warehouses.get(key, WarehouseState())
    return _with_warehouse(state, key, msgspec.structs.replace(known, tour=tour, used=now_ms))


def with_look(state: State, key: str, table: str, tab: str, look: GridLook, now_ms: int) -> State:
    """Set the look of a tab. A look with very many columns is not kept; an empty one removes the entry."""
    known = state.warehouses.get(key, WarehouseState())
    looks = {name: each for name, each in known.tables.get(table, TableState()).looks.items() if name != tab}
    if look != GridLook() and max(len(look.order), len(look.hidden), len(look.widths)) <= _MOST_COLUMNS:
        looks[tab] = look
    others = {name: each for name, each in known.tables.items() if name != table}
    tables = {**others, table: TableState(now_ms, looks)} if looks else others
    tables = _newest(tables, _MOST_TABLES)
    return _with_warehouse(state, key, msgspec.structs.replace(known, tables=tables, used=now_ms))


def _with_warehouse(state: State, key: str, warehouse: WarehouseState) -> State:
    warehouses = _newest({**state.warehouses, key: warehouse}, _MOST_WAREHOUSES)
    return msgspec.structs.replace(state, warehouses=warehouses)


def _newest(named: Mapping[str, T], most: int) -> dict[str, T]:
    kept = sorted(named.items(), key=lambda each: each[1].used)[-most:]
    return dict(kept)


_MOST_BYTES = 1_000_000
# In seconds. A console with the lock writes only a few kilobytes: if it takes longer, it is stuck.
_PATIENCE = 0.5
# At the end there is no next time: others that end at the same moment write first.
LAST_PATIENCE = 5.0
Change = Callable[[State], State]


class Unusable(Exception):
    """The file exists and can't be used; the text gives the reason."""


class Locked(Unusable):
    """Another console writes the file now."""


class Newer(Unusable):
    """A newer version of Paimark wrote the file: this version could lose data of it."""


class Memory:
    """After `load`, `problem` is a sentence about an error of the file, or empty."""

    def __init__(self, settings: Settings) -> None:
        self.problem = ""
        self._settings = settings
        self._path = state_directory() / "remembered.json"
        self._state = State()
        # Unsaved changes, by what they change: a later one replaces an earlier one.
        self._changes: dict[object, Change] = {}
        self._lock, self._saving = threading.Lock(), threading.Lock()

    def load(self) -> None:
        """Read the file. For the opening thread."""
        try:
            self._state = _read(self._path)
        except Unusable as error:
            self.problem = f"What was remembered is not used: {error}"

    @property
    def spot(self) -> Spot | None:
        """The last location in this warehouse, unless `resume` is off."""
        here = self._state.warehouses.get(self._key)
        return here.spot if here is not None and self._settings.resume else None

    @property
    def tour(self) -> TourState | None:
        """The progress of the tour in this warehouse."""
        here = self._state.warehouses.get(self._key)
        return None if here is None else here.tour

    @property
    def sidebar(self) -> int | None:
        """The width of the tables, in cells."""
        return self._state.sidebar

    def look(self, table: TablePath, tab: str) -> GridLook:
        """The remembered settings of a table's tab."""
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
        """Write the changes, in a thread."""
        if self._changes:
            threading.Thread(target=self.save, name="paimark-remember", daemon=True).start()

    def save(self, patience: float = _PATIENCE) -> None:
        """Write the changes, also those that a thread is about to write.

        Ignores errors, such as a full or read-only disk. If another console has the lock for longer than
        `patience`, in seconds, they are kept for the next call.
        """
        with self._saving:
            with self._lock:
                changes, self._changes = self._changes, {}
            if not changes:
                return
            try:
                _rewrite(self._path, list(changes.values()), patience)
            except Locked:
                with self._lock:
                    self._changes = {**changes, **self._changes}
            except (OSError, Unusable, UnicodeError):
                return

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
    """Read the file; an empty state if it does not exist. Raises `Unusable`."""
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


def _rewrite(path: Path, changes: list[Change], patience: float) -> None:
    """Apply changes to the file. Raises `OSError`, and `Unusable`: `Locked` if another process writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_suffix(".lock"), patience):
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
    """The state in the file, or an empty one if it is broken. Raises `Newer`."""
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
def _locked(path: Path, patience: float) -> Iterator[None]:
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Locked(f"{path} is locked") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
