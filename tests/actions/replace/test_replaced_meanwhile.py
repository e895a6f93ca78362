"""Somebody else makes a branch main, right before any one call of an action to the store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.errors import Refused
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.main_branch import main_root
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.actions.taking_over import branched, main_rows
from tests.long import long_but
from tests.storage.wrapped import Wrapped

_ACTIONS: dict[str, dict[str, Any]] = {
    "create-tag": {"name": "new"},
    "alter-branch-schema": {"add": "c INT"},
    "create-savepoint": {},
    "create-branch": {"name": "third", "tag": "v2"},
    "rename-tag": {"name": "v2", "to": "v9"},
    "delete-tag": {"name": "v2"},
    "delete-branch": {"name": "two"},
    "expire-snapshots": {"retain_last": 1},
    "replace-main-branch": {"name": "two"},
}


class Before(Wrapped):
    """A store on which somebody does something, once, right before the `at`-th call, counted from 1."""

    def __init__(self, inner: Files, at: int, deed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._at = at
        self._deed = deed

    @property
    def is_done(self) -> bool:
        return self._at <= 0

    def _count(self) -> None:
        self._at -= 1
        if self._at == 0:
            self._deed()

    def entries(self, directory: str) -> list[DirectoryEntry]:
        self._count()
        return super().entries(directory)

    def names(self, directory: str) -> list[str]:
        self._count()
        return super().names(directory)

    def etags(self, directory: str) -> dict[str, str | None]:
        self._count()
        return super().etags(directory)

    def read(self, path: str) -> bytes:
        self._count()
        return super().read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        for path in paths:
            self._count()
            yield from super().read_many([path])

    def exists(self, path: str) -> bool:
        self._count()
        return super().exists(path)

    def size(self, path: str) -> int | None:
        self._count()
        return super().size(path)

    def create(self, path: str, data: bytes) -> bool:
        self._count()
        return super().create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self._count()
        super().replace(path, data)

    def delete(self, path: str) -> None:
        self._count()
        super().delete(path)


@pytest.mark.parametrize("name", long_but(_ACTIONS, "create-tag", "alter-branch-schema"))
def test_an_action_is_done_or_refused_though_a_branch_becomes_main_meanwhile(
    context: Context, warehouse: Path, tmp_path: Path, name: str, is_long: bool
) -> None:
    """Without `--long` before every fourth call."""
    branched(context, "one", order_id=101)
    branched(context, "two", order_id=102)
    step = 1 if is_long else 4
    at, was_done = 1 - step, True
    while was_done:
        at += step
        copy = tmp_path / str(at) / "warehouse"
        shutil.copytree(warehouse, copy)
        was_done = _replaced_before(context_on(copy), at, name)
        shutil.rmtree(copy.parent)
    assert at > 20


def _replaced_before(context: Context, at: int, name: str) -> bool:
    """Do the action with a replacement before its call number `at`; return whether it has so many."""
    files = Before(
        LocalFiles(context.files.uri), at, lambda: _tried(context, "replace-main-branch", name="one")
    )
    _tried(context_on(Path(context.files.uri), files), name, **_ACTIONS[name])
    assert main_rows(context)
    assert guard_tags.mismatches(context.files, ORDERS) == []
    assert planned(context, "recover").empty
    assert main_root(context.files, ORDERS).label in ("one", "two", "main")
    return files.is_done


def _tried(context: Context, action: str, /, **arguments: Any) -> None:
    """Both may be refused as the other holds the lock, or has moved main; they may fail in no other way."""
    try:
        done(context, action, **arguments)
    except Refused:
        return
