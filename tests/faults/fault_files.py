"""A store on which the writer dies at a chosen write."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Literal

from core.storage.files import Files
from tests.actions.acting import Wrapped

Mode = Literal["before", "after", "half"]
MODES: tuple[Mode, ...] = ("before", "after", "half")
_EVERY = 3
# What tells calls of one kind apart: numbers, and names that chance decides.
_CHANGES = re.compile(r"[0-9a-f]{4,}|\d+|main-archive-[^/]*")


class Death(BaseException):
    """`kill -9`: nothing of the program runs any more, and a store that takes nothing sees to that."""


def can_be_half(call: str) -> bool:
    """Whether a write has bytes, of which half may be there: dying in any other is dying before it."""
    return call.startswith(("create ", "replace "))


def some_of(calls: list[str], turn: int, known: set[str]) -> list[int]:
    """Of a recovery's writes, counted from 1: the ends, each of a kind not yet known, every third besides.

    Where that begins goes round with `turn`, which is to be another for each recovery of a test.
    """
    new = {
        number: kind for number, call in enumerate(calls, 1) if (kind := _CHANGES.sub("", call)) not in known
    }
    known |= {*new.values()}
    first_of_kind = {kind: number for number, kind in reversed(new.items())}.values()
    rest = range(1 + turn % _EVERY, len(calls) + 1, _EVERY)
    return sorted({1, len(calls), *first_of_kind, *rest}) if calls else []


class FaultFiles(Wrapped):
    """Dies at the `fail_at`-th write, counted from 1: before it, after it, or with half the bytes written.

    create and replace are whole or not at all, so that half a file lies under a temporary name. `writes`
    holds every write call so far.
    """

    def __init__(self, inner: Files, fail_at: int = 0, mode: Mode = "before") -> None:
        super().__init__(inner)
        self._fail_at = fail_at
        self._mode = mode
        self.writes: list[str] = []

    def create(self, path: str, data: bytes) -> bool:
        self._begin(f"create {path}", path, data)
        created = self.inner.create(path, data)
        self._end()
        return created

    def replace(self, path: str, data: bytes) -> None:
        self._begin(f"replace {path}", path, data)
        self.inner.replace(path, data)
        self._end()

    def delete(self, path: str) -> None:
        self._begin(f"delete {path}")
        self.inner.delete(path)
        self._end()

    def prune(self, directory: str) -> None:
        self._begin(f"prune {directory}")
        self.inner.prune(directory)
        self._end()

    def _begin(self, call: str, path: str = "", data: bytes | None = None) -> None:
        self.writes.append(call)
        number = len(self.writes)
        if self._fail_at and number > self._fail_at:
            raise Death(call)
        if number == self._fail_at and self._mode != "after":
            if self._mode == "half" and data is not None:
                target = Path(self.uri, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                (target.parent / f".{target.name}.{uuid.uuid4()}").write_bytes(data[: len(data) // 2])
            raise Death(call)

    def _end(self) -> None:
        if len(self.writes) == self._fail_at:
            raise Death(self.writes[-1])
