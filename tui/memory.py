"""What a session takes from earlier ones and leaves to later ones: each value is a small file of its own.

Several consoles may run at once. A file is replaced as a whole, so of two that change one value the later one
wins, and values of others stay. No error here ends a session: a file that can't be read counts as none, and
values that can't be written are lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar, cast
from zlib import crc32

import msgspec

from paimark.core.config import Settings, state_directory
from paimark.core.redaction import redacted, without_secrets
from paimark.core.regular_files import open_regular, read_regular
from paimark.core.table.layout import TablePath

# Beyond so many files those that were changed longest ago are removed.
MOST_FILES = 500
_MOST_COLUMNS = 200
# What a value is of: `("/lake", "spot")`, or `("/lake", "shop.orders", "tags")`.
Of = tuple[str, ...]
T = TypeVar("T")


class ColumnLayout(msgspec.Struct, frozen=True):
    """A person's choices for a grid's columns, by column name, so that they apply to other rows, too.

    `order` is empty until a column is moved, then it has the names of all columns; `widths` are in cells.
    """

    order: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    widths: Mapping[str, int] = msgspec.field(default_factory=dict)

    def in_order(self, names: Sequence[str]) -> list[int]:
        """The indexes of these columns in display order; columns that `order` lacks come last."""
        places = {name: place for place, name in enumerate(self.order)}
        return sorted(range(len(names)), key=lambda index: places.get(names[index], len(places)))

    def toggled(self, name: str) -> ColumnLayout:
        """The layout with the column hidden, or shown again if it was hidden."""
        return msgspec.structs.replace(self, hidden=self.hidden ^ {name})

    def with_width(self, name: str, width: int | None) -> ColumnLayout:
        """The layout with this width of a column; `None` is the width measured from its values."""
        others = {each: cells for each, cells in self.widths.items() if each != name}
        return msgspec.structs.replace(self, widths=others if width is None else {**others, name: width})

    def moved(self, names: Sequence[str], name: str, to: str) -> ColumnLayout:
        """The layout with the column `name` moved to the position of the column `to`."""
        order = [names[index] for index in self.in_order(names)]
        place = order.index(to)
        order.remove(name)
        order.insert(place, name)
        return msgspec.structs.replace(self, order=tuple(order))


class GridLook(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a tab's grid; `sort` names the column that the rows are sorted by, or is empty."""

    layout: ColumnLayout = ColumnLayout()
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


class _Kept(msgspec.Struct, Generic[T], frozen=True):
    """A file."""

    of: Of
    value: T


class Memory:
    """A value is read when it is first asked for, which is for threads. `problem`: why one could not be."""

    def __init__(self, settings: Settings) -> None:
        self.problem = ""
        self._settings = settings
        self._warehouse = redacted(without_secrets(settings.warehouse)).rstrip("/")
        self._directory = state_directory() / "remembered"
        self._values: dict[Of, object] = {}
        self._unsaved: set[Of] = set()
        self._lock, self._saving = threading.Lock(), threading.Lock()

    @property
    def spot(self) -> Spot | None:
        """The last location in this warehouse, unless `resume` is off."""
        return self._get((self._warehouse, "spot"), Spot) if self._settings.resume else None

    @property
    def tour(self) -> TourState | None:
        """The progress of the tour in this warehouse."""
        return self._get((self._warehouse, "tour"), TourState)

    @property
    def sidebar(self) -> int | None:
        """The width of the tables, in cells."""
        return self._get(("sidebar",), int)

    def look(self, table: TablePath, tab: str) -> GridLook:
        """The remembered settings of a table's tab."""
        return self._get((self._warehouse, table.full_name, tab), GridLook) or GridLook()

    def keep_spot(self, spot: Spot) -> None:
        self._keep((self._warehouse, "spot"), spot)

    def keep_tour(self, tour: TourState | None) -> None:
        self._keep((self._warehouse, "tour"), tour)

    def keep_sidebar(self, width: int) -> None:
        self._keep(("sidebar",), width)

    def keep_look(self, table: TablePath, tab: str, look: GridLook) -> None:
        """A look with very many columns is not kept."""
        of = look.layout
        is_kept = max(len(of.order), len(of.hidden), len(of.widths)) <= _MOST_COLUMNS
        known = look if is_kept and look != GridLook() else None
        self._keep((self._warehouse, table.full_name, tab), known)

    def save_soon(self) -> None:
        """Write what has changed, in a thread."""
        if self._unsaved:
            threading.Thread(target=self.save, name="paimark-remember", daemon=True).start()

    def save(self) -> None:
        """Write what has changed, also what a thread is about to write.

        Ignores errors, such as a full or read-only disk.
        """
        with self._saving:
            with self._lock:
                changed, self._unsaved = {of: self._values[of] for of in self._unsaved}, set()
            for of, value in changed.items():
                with suppress(OSError, UnicodeError):
                    self._write(of, value)
            with suppress(OSError):
                if changed:
                    self._remove_oldest()

    def _get(self, of: Of, kind: type[T]) -> T | None:
        with self._lock:
            if of not in self._values:
                self._values[of] = self._read(of, kind)
            return cast("T | None", self._values[of])

    def _keep(self, of: Of, value: object) -> None:
        with self._lock:
            self._values[of] = value
            self._unsaved.add(of)

    def _path(self, of: Of) -> Path:
        # Two may have the same name: then a file is of the one that wrote it last.
        return self._directory / f"{crc32(chr(0).join(of).encode('utf-8', 'replace')):08x}.json"

    def _read(self, of: Of, kind: type[T]) -> T | None:
        path = self._path(of)
        try:
            kept = msgspec.json.decode(read_regular(path), type=_Kept[kind])  # type: ignore[valid-type]
        except FileNotFoundError:
            return None
        except OSError as error:
            self.problem = f"{path} can't be read: {error.strerror or error}"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.problem = f"{path} is not as expected: {error}"
        else:
            return kept.value if kept.of == of else None
        return None

    def _write(self, of: Of, value: object) -> None:
        """Write the file of a value, or remove it for None. Raises `OSError`."""
        path = self._path(of)
        if value is None:
            path.unlink(missing_ok=True)
            return
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        with os.fdopen(open_regular(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(msgspec.json.encode(_Kept(of, value)))
        os.replace(beside, path)

    def _remove_oldest(self) -> None:
        """Raises `OSError`."""
        times = {path: path.stat().st_mtime for path in self._directory.iterdir()}
        oldest = sorted(times, key=times.__getitem__)[:-MOST_FILES]
        for path in oldest:
            path.unlink(missing_ok=True)
