"""A process that slept between two writes, and was taken for dead meanwhile, writes nothing more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.change import driver, fence, journal
from paimark.core.actions.context import Context
from paimark.core.errors import Refused, Unavailable
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, contents, context_on, done, undoable
from tests.actions.taking_over import branched
from tests.storage.wrapped import Wrapped

Prepare = Callable[[Context], object]


class Sleeps(Wrapped):
    """A store that does a deed after the given write, the first being 1."""

    def __init__(self, inner: Files, after: int, deed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._calls, self._after, self._deed = 0, after, deed

    def create(self, path: str, data: bytes) -> bool:
        is_created = self.inner.create(path, data)
        self._done()
        return is_created

    def replace(self, path: str, data: bytes) -> None:
        self.inner.replace(path, data)
        self._done()

    def delete(self, path: str) -> None:
        self.inner.delete(path)
        self._done()

    def _done(self) -> None:
        self._calls += 1
        if self._calls == self._after:
            self._deed()


def taken_over(context: Context) -> bool:
    """Another machine ends the change, and takes it back if it was made. False if it had ended."""
    if (begun := journal.current(context, ORDERS)) is None:
        return False
    driver.recover(journal.take_over(context, ORDERS, begun, journal.new_token()), lambda line: None)
    if any(each.token == begun.journal.token for each in undoable(context)):
        done(context, "undo")
    return True


def replacement(context: Context) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")


def truncation(context: Context) -> None:
    done(context, "rollback", to="snapshot.2", truncate=True)


def second_branch(context: Context) -> None:
    replacement(context)
    branched(context, "more")


def ahead(context: Context) -> None:
    done(context, "create-tag", name="now")
    branched(context, "ahead", "now")


def wider(context: Context) -> None:
    done(context, "alter-branch-schema", add="note STRING")


@pytest.mark.parametrize(
    ("prepare", "action", "arguments"),
    [
        (branched, "replace-main-branch", {"name": "fix"}),
        (replacement, "undo", {}),
        (lambda context: None, "rollback", {"to": "snapshot.2", "truncate": True}),
        (truncation, "undo", {}),
        (branched, "rename-branch", {"name": "fix", "to": "prod"}),
        (branched, "delete-branch", {"name": "fix"}),
        (second_branch, "replace-main-branch", {"name": "more"}),
        pytest.param(ahead, "merge-branch", {"name": "ahead"}, marks=pytest.mark.long),
        (lambda context: None, "rename-tag", {"name": "v2", "to": "new"}),
        (lambda context: None, "alter-branch-schema", {"add": "note STRING"}),
        (wider, "undo", {}),
        (lambda context: None, "expire-snapshots", {"retain_last": 1}),
    ],
    ids=[
        "replace",
        "undo replacement",
        "truncate",
        "undo truncation",
        "rename branch",
        "delete branch",
        "second replacement",
        "fast-forward",
        "rename tag",
        "alter",
        "undo alter",
        "expire",
    ],
)
def test_nothing_more_is_written(
    warehouse: Path,
    tmp_path: Path,
    is_long: bool,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Prepare,
    action: str,
    arguments: dict[str, Any],
) -> None:
    passed = 0.0
    monkeypatch.setattr(fence, "clocks", lambda: (passed,))
    prepare(context_on(warehouse))
    # An expiry has few writes, and only right after its point of no return does it read what may be gone.
    write, is_held, step = 0, True, 1 if is_long or action == "expire-snapshots" else 4
    while is_held:
        write += step
        there = tmp_path / str(write) / "warehouse"
        shutil.copytree(warehouse / "shop.db/orders", there / "shop.db/orders")

        def wake() -> None:
            nonlocal passed
            passed += 2 * context_on(warehouse).beat_every

        is_held = slept_after(there, write, wake, action, arguments)
    assert write >= 2 * step


def slept_after(
    there: Path, write: int, wake: Callable[[], None], action: str, arguments: dict[str, Any]
) -> bool:
    """Whether the table was still held then."""
    others, left, was_held = context_on(there), dict[str, bytes](), []

    def sleep() -> None:
        was_held.append(taken_over(others))
        left.update(contents(there / "shop.db/orders"))
        wake()

    store = Sleeps(LocalFiles(str(there)), write, sleep)
    try:
        done(context_on(there, store), action, **arguments)
    except (Refused, Unavailable) as error:
        assert was_held == [True]
        # Of a merge, its savepoint may be half made.
        is_half = contents(there / "shop.db/orders").keys() & {
            ORDERS.savepoint_claim(1).removeprefix(f"{ORDERS.directory}/")
        }
        assert is_half or "half done" not in error.message
    else:
        assert was_held in ([False], [])
    if was_held == [True]:
        assert contents(there / "shop.db/orders") == left, f"after write {write}"
    assert verify(others, ORDERS).is_whole, f"after write {write}"
    return was_held == [True]
