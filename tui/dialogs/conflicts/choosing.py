"""The choices for the keys of a file of conflicts. The rows stay in the file; few are in memory."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from paimark.core.actions.merge.conflict_file import rewrite_choices
from paimark.core.actions.merge.conflict_lines import BASE, LINES, Choose, ConflictFile
from paimark.core.actions.merge.conflicts import NO_ROW, Conflict, line_columns
from paimark.core.config import state_directory
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.regular_files import open_regular
from paimark.core.table.layout import TablePath
from paimark.tui.records.sources import GridColumn
from paimark.tui.widgets.detail_strip import Detail, Fact
from paimark.tui.widgets.grid.paint import GAP, GUTTER, measure

# Each key takes some hundred bytes of memory. More keys are a task for a script.
MOST_KEYS = 200_000
UNDECIDED: Final = "undecided"
_KEPT_KEYS = 256


class Shape(NamedTuple):
    """The columns of a key in conflict, as in `KeyLine`. Shared, because most keys have the same."""

    columns: tuple[str, ...]
    both: tuple[str, ...]
    is_whole: bool

    def is_undecided(self, choose: Choose) -> bool:
        return not choose if isinstance(choose, str) else not choose.keys() >= {*self.both}

    def with_cell(self, choose: Choose, column: str, word: str) -> Choose:
        """`choose` with a choice for a cell, empty for none; if a side lacks the row, for the row."""
        if self.is_whole or not column:
            return word
        if isinstance(choose, str):
            # The choice for the row stays for its other cells.
            choose = dict.fromkeys(self.columns if choose not in ("", BASE) else (), choose)
        cells = {name: each for name, each in choose.items() if name != column}
        if word:
            cells[column] = word
        is_row = len(cells) == len(self.columns) and {*cells.values()} == {word} != {BASE}
        return word if is_row else cells or ""

    def is_open(self, choose: Choose, column: str) -> bool:
        """Whether a cell still needs a choice, for itself or for its row."""
        if isinstance(choose, dict):
            return column in self.both and column not in choose
        return not choose and (column in self.both or not self.both)

    def with_rest(self, choose: Choose, word: str) -> Choose:
        """`choose` with a choice for its undecided cells."""
        if not self.is_undecided(choose):
            return choose
        return word if isinstance(choose, str) else {**dict.fromkeys(self.both, word), **choose}


class Choosing:
    """The lines in their order of display: one for each column that differs, key after key."""

    def __init__(self, path: str) -> None:
        """Raises `NotFound`, and `Refused` for an incomplete file or too many keys."""
        file = ConflictFile(path)
        self.path, self.header = path, file.header
        self.has_changed, self._saving = False, threading.Lock()
        self._choices: list[Choose] = []
        self._shapes: list[Shape] = []
        # The offset of each key in the file, and the number of its first line here.
        self._places, self._first_lines = array("q"), array("q")
        known: dict[Shape, Shape] = {}
        lines = 0
        for place, line in file.lines():
            shape = Shape(line.columns, line.both, line.is_whole)
            self._shapes.append(known.setdefault(shape, shape))
            self._choices.append(line.choose)
            self._places.append(place)
            self._first_lines.append(lines)
            lines += max(1, len(line.columns))
            if len(self._choices) > MOST_KEYS:
                raise Refused(
                    f"More than {counted(MOST_KEYS, 'key')} are in conflict: too many to choose among here",
                    f"All are in {path}: let a script set `choose` there, and give it as `resolve`.",
                )
        self._lines = lines
        self.undecided = sum(map(Shape.is_undecided, self._shapes, self._choices))
        self._descriptor = open_regular(path, os.O_RDONLY)
        self._conflict = lru_cache(_KEPT_KEYS)(self._read)

    def close(self) -> None:
        os.close(self._descriptor)

    # Lines

    def __len__(self) -> int:
        return self._lines

    def row(self, index: int) -> Sequence[object]:
        key, place = self._key_of(index), index - self._first_lines[self._key_of(index)]
        line = self._conflict(key).lines[place]
        count = len(self.header.keys)
        return (*line[: count + 1], self.state(index), *line[count + 1 :])

    def key(self, index: int) -> Hashable:
        return index

    def find(self, key: Hashable) -> int | None:
        return key if isinstance(key, int) and key < self._lines else None

    def state(self, index: int) -> str:
        """The value that the line's cell gets, in words: `only main` if only that side changed it."""
        key, column = self._key_of(index), self.column(index)
        choose = self._choices[key]
        if isinstance(choose, str) and choose:
            return choose
        if isinstance(choose, dict) and column in choose:
            return choose[column]
        if self._shapes[key].is_open(choose, column):
            return UNDECIDED
        base, branch = self._conflict(key).base, self._conflict(key).branch
        assert branch is not None
        is_main = base is not None and bytes(base[column]) == bytes(branch[column])
        return f"only {self.header.sides[not is_main]}"

    def is_undecided(self, index: int) -> bool:
        key = self._key_of(index)
        return self._shapes[key].is_undecided(self._choices[key])

    def column(self, index: int) -> str:
        """The column of a line; empty if the rows have no columns but the key."""
        key = self._key_of(index)
        place, columns = index - self._first_lines[key], self._shapes[key].columns
        return columns[place] if place < len(columns) else ""

    def conflict(self, index: int) -> Conflict:
        return self._conflict(self._key_of(index))

    @property
    def keys(self) -> int:
        return len(self._choices)

    @property
    def progress(self) -> str:
        """`12 of 40 keys decided`."""
        return f"{self.keys - self.undecided:,} of {counted(self.keys, 'key')} decided"

    @property
    def has_any(self) -> bool:
        """Whether there is any choice."""
        return any(choose != "" for choose in self._choices)

    def next_undecided(self, index: int) -> int | None:
        """The next line without a choice, continuing from the start; None if there is none."""
        here = self._key_of(index)
        for step in range(self.keys + 1):
            key = (here + step) % self.keys
            shape, choose, first = self._shapes[key], self._choices[key], self._first_lines[key]
            if shape.is_undecided(choose):
                for place, column in enumerate(shape.columns or ("",)):
                    if shape.is_open(choose, column) and (step or first + place > index):
                        return first + place
        return None

    # Choosing: `word` is one of the header's words, and empty for no choice

    def choose_cell(self, index: int, word: str) -> None:
        column = self.column(index)
        self._set([self._key_of(index)], lambda shape, choose: shape.with_cell(choose, column, word))

    def choose_row(self, index: int, word: str) -> None:
        self._set([self._key_of(index)], lambda shape, choose: word)

    def choose_column(self, column: str, word: str) -> int:
        """Choose for every key whose rows differ in a column, except rows that a side lacks; their number."""
        keys = [
            key for key, shape in enumerate(self._shapes) if column in shape.columns and not shape.is_whole
        ]
        self._set(keys, lambda shape, choose: shape.with_cell(choose, column, word))
        return len(keys)

    def choose_all(self, word: str) -> None:
        self._set(range(self.keys), lambda shape, choose: word)

    def choose_rest(self, word: str) -> None:
        """Choose for everything that is undecided."""
        self._set(range(self.keys), lambda shape, choose: shape.with_rest(choose, word))

    def save(self) -> None:
        """Write the choices into the file, in any thread. Raises `Unavailable`."""
        with self._saving:
            if not self.has_changed:
                return
            # Before the choices are read: one that is made meanwhile is written the next time.
            self.has_changed = False
            try:
                rewrite_choices(self.path, self._choices)
            except BaseException:
                self.has_changed = True
                raise

    def _set(self, keys: Iterable[int], chosen: Callable[[Shape, Choose], Choose]) -> None:
        for key in keys:
            shape, before = self._shapes[key], self._choices[key]
            self._choices[key] = after = chosen(shape, before)
            self.undecided += shape.is_undecided(after) - shape.is_undecided(before)
            self.has_changed = self.has_changed or after != before

    def _key_of(self, index: int) -> int:
        return bisect_right(self._first_lines, index) - 1

    def _read(self, key: int) -> Conflict:
        end = self._places[key + 1] if key + 1 < self.keys else self._places[key] + (1 << 30)
        line = _first_line(self._descriptor, self._places[key], end)
        return Conflict.of(msgspec.json.decode(line, type=LINES[self.header.sides[1]]))


def _first_line(descriptor: int, begin: int, end: int) -> bytes:
    """Read the line that begins at an offset; the end of the last key's line is not known before."""
    data = b""
    while begin < end and b"\n" not in data:
        piece = os.pread(descriptor, min(end - begin, 1 << 16), begin)
        if not piece:
            break
        data, begin = data + piece, begin + len(piece)
    return data.partition(b"\n")[0]


# Not longer, because the files contain rows of tables.
_KEPT_DAYS = 30
_LONGEST = 60


def kept_file(warehouse: str, table: TablePath, branch: str, kind: str = "conflicts") -> str:
    """The file of the conflicts of a branch, or of an action on one. Removes old files of others."""
    directory = state_directory() / kind
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    whole = "\0".join((warehouse, table.full_name, branch))
    named = re.sub(r"[^\w.-]", "_", f"{table.full_name}-{branch}")[:_LONGEST]
    kept = directory / f"{named}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}.jsonl"
    for other in {*directory.glob("*.jsonl")} - {kept}:
        with suppress(OSError):
            _remove_old(other)
    return str(kept)


def _remove_old(path: Path) -> None:
    if time.time() - path.stat().st_mtime > _KEPT_DAYS * 86_400:
        path.unlink()


_WIDEST = 32
# If the three have less room than this, long keys are cut; they themselves never get less than `_LEAST`.
_ENOUGH, _LEAST = 24, 10
_NARROW_NAME = 14


def conflict_columns(choosing: Choosing, width: int) -> list[GridColumn]:
    """The key, the column and what is taken; then the sides, in equal shares of the rest of `width` cells."""
    room = _room(choosing, width, _WIDEST)
    if room >= _ENOUGH:
        return _columns(choosing, _WIDEST, min(room, _WIDEST))
    return _columns(choosing, _NARROW_NAME, max(_LEAST, min(_room(choosing, width, _NARROW_NAME), _WIDEST)))


def conflict_detail(conflict: Conflict, sides: Sequence[str]) -> Detail:
    """All values of a key in conflict; `sides` are the header's."""
    both = zip(conflict.facts(sides), conflict.named(sides), strict=True)
    facts = (Fact(name, text, NO_ROW if value is None else value) for (name, text), (_, value) in both)
    return Detail(f"key {conflict.key_text}", tuple(facts))


def _columns(choosing: Choosing, most_of_names: int, most_of_sides: int) -> list[GridColumn]:
    first, *sides = line_columns(choosing.header.sides)
    names = [GridColumn(name, most=most_of_names) for name in (*choosing.header.keys, first, "taken")]
    return [*names, *(GridColumn(name, most=most_of_sides) for name in sides)]


def _room(choosing: Choosing, width: int, most_of_names: int) -> int:
    """The cells that are left for each of the sides."""
    widths = measure(_columns(choosing, most_of_names, _WIDEST), choosing, 0)
    sides = len(line_columns(choosing.header.sides)) - 1
    gaps = len(GAP) * (len(widths) - 1)
    return (width - GUTTER - gaps - sum(widths[:-sides])) // sides
