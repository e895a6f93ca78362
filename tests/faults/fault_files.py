"""Stores that kill the writer at a chosen write, and keep the state that it leaves."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from paimark.core.storage.files import Files
from tests.faults.trees import Tree, TreeOnDisk
from tests.storage.wrapped import Wrapped

Mode = Literal["before", "after", "half"]
_EVERY = 3
# The lock, the journal's first entries, the file that names main, and what commits an action that has such a
# write: one of them is the point of no return.
_DECIDES = re.compile(r"/(?:ACTION|STEP-\w+-[123]|MAIN-BRANCH)$|^create .*/(?:tag|schema|snapshot)-[^/]+$")
# The variable parts of calls of one kind: numbers and random names.
_CHANGES = re.compile(r"[0-9a-f]{4,}|\d+|main-archive-[^/]*")


class Death(BaseException):
    """`kill -9`. Cleanup code of the program still runs, but the store accepts no more writes."""


class Point(NamedTuple):
    """A kill at a write, counted from 1: before it, after it, or with half of its bytes written."""

    number: int
    call: str
    mode: Mode

    def __str__(self) -> str:
        return f"killed {self.mode} write {self.number}, {self.call}"


def some_of(calls: list[str], turn: int, known: set[str]) -> list[int]:
    """Some of a recovery's writes, counted from 1: first, last, the first of each new kind, and every third.

    `turn` shifts the start of every third; pass another one for each recovery of a test.
    """
    new = {
        number: kind for number, call in enumerate(calls, 1) if (kind := _CHANGES.sub("", call)) not in known
    }
    known |= {*new.values()}
    first_of_kind = {kind: number for number, kind in reversed(new.items())}.values()
    rest = range(1 + turn % _EVERY, len(calls) + 1, _EVERY)
    return sorted({1, len(calls), *first_of_kind, *rest}) if calls else []


def some_points(film: Film, every: int = 0) -> list[Point]:
    """Few kills of a change: the first, the last, those around its decisions, and each `every`-th."""
    points = [*film.points()]
    decided = [place for place, each in enumerate(points) if _DECIDES.search(each.call)]
    others = range(0, len(points), every) if every else ()
    chosen = {0, *decided, *(place - 1 for place in decided), *others, len(points) - 1}
    return [points[place] for place in sorted(chosen) if place >= 0]


class WatchedWrites(Wrapped):
    """A store that observes each write. `writes` holds every write call so far."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.writes: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        with self._write(f"create {path}", path, data):
            return self.inner.create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        with self._write(f"replace {path}", path, data):
            self.inner.replace(path, data)

    def delete(self, path: str) -> None:
        with self._write(f"delete {path}"):
            self.inner.delete(path)

    def prune(self, directory: str) -> None:
        with self._write(f"prune {directory}"):
            self.inner.prune(directory)

    def move(self, directory: str, to: str) -> None:
        with self._write(f"move {directory}"):
            self.inner.move(directory, to)

    def copy(self, path: str, to: str, size: int) -> None:
        with self._write(f"copy {to}"):
            self.inner.copy(path, to, size)

    @contextmanager
    def _write(self, call: str, path: str = "", data: bytes | None = None) -> Iterator[None]:
        self.writes.append(call)
        yield


class FaultFiles(WatchedWrites):
    """Dies right after the `fail_at`-th write, counted from 1."""

    def __init__(self, inner: Files, fail_at: int) -> None:
        super().__init__(inner)
        self._fail_at = fail_at
        self._is_dead = False

    @contextmanager
    def _write(self, call: str, path: str = "", data: bytes | None = None) -> Iterator[None]:
        with super()._write(call, path, data):
            if self._is_dead:
                raise Death(call)
            yield
        if self._is_last(call):
            self._is_dead = True
            raise Death(call)

    def _is_last(self, call: str) -> bool:
        return len(self.writes) == self._fail_at


class DiesAfter(FaultFiles):
    """Dies right after the first write of a path that matches this pattern."""

    def __init__(self, inner: Files, pattern: str, *, writes: str = "create|replace") -> None:
        super().__init__(inner, 0)
        self._pattern = re.compile(rf"^({writes}) .*?(?:{pattern})")

    def _is_last(self, call: str) -> bool:
        return self._pattern.search(call) is not None


class Film(WatchedWrites):
    """Keeps the state of a directory around each write: a process that is killed there leaves it.

    create and replace are atomic, so half of a file is under a temporary name.
    """

    def __init__(self, inner: Files, on_disk: TreeOnDisk) -> None:
        super().__init__(inner)
        self._on_disk = on_disk
        self._frames: dict[tuple[int, Mode], Tree] = {}
        self._halves: dict[int, tuple[Path, bytes]] = {}
        self._one_at_a_time = threading.RLock()

    def points(self) -> Iterator[Point]:
        """Every kill. A kill before a write is a kill after the previous one."""
        for number, call in enumerate(self.writes, start=1):
            yield Point(number, call, "after")
            # Only writes with data can be half done.
            if number in self._halves:
                yield Point(number, call, "half")

    def point(self, number: int, mode: Mode = "after") -> Point:
        return Point(number, self.writes[number - 1], mode)

    def put_back(self, point: Point) -> None:
        """Restore the directory to its state at the kill."""
        is_half = point.mode == "half"
        self._on_disk.put_back(self._frames[point.number, "before" if is_half else point.mode])
        if is_half:
            path, data = self._halves[point.number]
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / f".{path.name}.{uuid.uuid4()}").write_bytes(data)

    @contextmanager
    def _write(self, call: str, path: str = "", data: bytes | None = None) -> Iterator[None]:
        # Several threads may delete at once, and each write has its frames.
        with self._one_at_a_time, super()._write(call, path, data):
            number = len(self.writes)
            if data is not None:
                self._halves[number] = Path(self.uri, path), data[: len(data) // 2]
            self._frames[number, "before"] = self._on_disk.read()
            yield
            self._frames[number, "after"] = self._on_disk.read()
