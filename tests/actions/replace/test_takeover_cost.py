"""What a replacement costs does not grow with the history, but for what it copies."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.table.layout import SNAPSHOT_PREFIX
from tests.actions.acting import ORDERS, applied, context_on, planned
from tests.actions.taking_over import branched
from tests.storage.wrapped import Wrapped


class Calls(Wrapped):
    """Counts every call that reaches the store, and apart from them the snapshot files read or written."""

    def __init__(self, inner: Files) -> None:
        super().__init__(inner)
        self.calls = 0
        self.snapshots = 0

    def entries(self, directory: str) -> list[DirectoryEntry]:
        self.calls += 1
        return super().entries(directory)

    def names(self, directory: str) -> list[str]:
        self.calls += 1
        return super().names(directory)

    def read(self, path: str) -> bytes:
        self._count(path)
        return super().read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        wanted = list(paths)
        for path in wanted:
            self._count(path)
        return super().read_many(wanted)

    def create(self, path: str, data: bytes) -> bool:
        self._count(path)
        return super().create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self._count(path)
        super().replace(path, data)

    def delete(self, path: str) -> None:
        self._count(path)
        super().delete(path)

    def exists(self, path: str) -> bool:
        self._count(path)
        return super().exists(path)

    def _count(self, path: str) -> None:
        if f"/{SNAPSHOT_PREFIX}" in path:
            self.snapshots += 1
        else:
            self.calls += 1


def _lengthen(context: Context, count: int) -> None:
    """A longer history before the fork: copies of the first snapshot, below it."""
    own = ORDERS.root()
    first = Path(context.files.uri, own.snapshot(1))
    data = first.read_bytes()
    for number in range(5, 0, -1):
        there = Path(context.files.uri, own.snapshot(number))
        moved = there.read_bytes().replace(f'"id": {number}'.encode(), f'"id": {number + count}'.encode())
        there.unlink()
        Path(context.files.uri, own.snapshot(number + count)).write_bytes(moved)
    for number in range(1, count + 1):
        filler = data.replace(b'"id": 1', f'"id": {number}'.encode())
        Path(context.files.uri, own.snapshot(number)).write_bytes(filler)
    tag = Path(context.files.uri, own.tag("v2"))
    tag.write_bytes(tag.read_bytes().replace(b'"id": 2', f'"id": {2 + count}'.encode()))
    Path(context.files.uri, own.latest_hint).write_text(str(5 + count))


def _cost(warehouse: Path, count: int) -> tuple[int, int]:
    context = context_on(warehouse)
    _lengthen(context, count)
    branched(context)
    counting = Calls(context.files)
    watched = context_on(warehouse, counting)
    applied(watched, planned(watched, "replace-main-branch", name="fix"))
    return counting.calls, counting.snapshots


def test_only_the_copied_snapshots_are_touched_more_often(warehouse: Path, tmp_path: Path) -> None:
    other = tmp_path / "longer" / "warehouse"
    shutil.copytree(warehouse, other)
    short, long = _cost(warehouse, 0), _cost(other, 200)
    assert long[0] == pytest.approx(short[0], abs=4)
    # Copied to branch and archive, compared before they go, deleted: and a bisection to find the fork.
    assert long[1] - short[1] <= 200 * 8 + 20
