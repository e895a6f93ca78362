"""Doing actions in tests: a context on a warehouse, and stores that refuse or act up."""

from __future__ import annotations

import getpass
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.change import operations
from paimark.core.actions.change.operations import Operation
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, ItemKind, Outcome, Plan
from paimark.core.actions.registry import action
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.results import result_of
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit
from tests.storage.wrapped import Wrapped

ORDERS = TablePath("shop", "orders")
EVENTS = TablePath("shop", "events")
_NEVER_SECONDS = 1e6


def context_on(warehouse: Path, files: Files | None = None, *, read_only: bool = False) -> Context:
    """A context whose proof does not wait; its audit log lies beside the warehouse.

    It does not beat: what takes long on a slow machine writes what it writes on a fast one.
    """
    return Context(
        files=files or LocalFiles(str(warehouse)),
        read_only=read_only,
        user=getpass.getuser(),
        host="here",
        audit_path=warehouse.parent / "state" / "audit.jsonl",
        clock=lambda: time.time_ns() // 1_000_000,
        options={},
        verify_wait=0,
        beat_every=_NEVER_SECONDS,
    )


def replace_rows(warehouse: Path, branch: str = "") -> None:
    """A snapshot of `shop.orders` that needs no data file of those before."""
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, f"shop.orders{branch}", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=True)


def planned(context: Context, action_name: str, /, table: TablePath = ORDERS, **arguments: object) -> Plan:
    return action(action_name).plan(context, table, arguments)


def done(context: Context, action_name: str, /, table: TablePath = ORDERS, **arguments: object) -> Outcome:
    """Plan and apply at once."""
    return applied(context, planned(context, action_name, table=table, **arguments))


def applied(context: Context, plan: Plan, told: list[str] | None = None) -> Outcome:
    lines = [] if told is None else told
    outcome = action(plan.action).apply(context, plan, lines.append)
    # The public API gives every outcome a shape of its own.
    assert result_of(plan, outcome).message == outcome.message
    return outcome


def codes(said: Plan | Outcome, *kinds: ItemKind) -> list[str]:
    """The codes of what is said, in order: of these kinds, or of all."""
    return [each.code for each in said.lines if each.code and (not kinds or each.kind in kinds)]


def texts(said: Plan | Outcome, *kinds: ItemKind) -> list[str]:
    """What is said, in order: of these kinds, or all."""
    return [each.text for each in said.lines if not kinds or each.kind in kinds]


def item(said: Plan | Outcome, code: str) -> Item:
    """The one item with this code."""
    [found] = [each for each in said.lines if each.code == code]
    return found


def refused(plan: Plan) -> list[str]:
    """The codes of the refusals; of one without a code, its reason."""
    return [each.code or each.reason for each in plan.refusals]


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, but for the logs of operations, which only grow."""
    found: dict[str, bytes] = {}
    waiting = [""]
    while waiting:
        above = waiting.pop()
        is_log = f"/{above}".endswith("/operations/")
        for entry in os.scandir(directory / above):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{above}{entry.name}/")
            elif not is_log and entry.is_file():
                with open(entry.path, "rb") as file:
                    found[above + entry.name] = file.read()
    return found


def undoable(context: Context, table: TablePath = ORDERS) -> list[Operation]:
    """What can be undone of main and its branches, the newest last, without the references that were made."""
    known = operations.undoable(context, table)
    return [each for each in known if each.turned.made is None and each.turned.schema is None]


class NoWrites(Wrapped):
    """A store on which a plan that writes is caught."""

    def create(self, path: str, data: bytes) -> bool:
        raise AssertionError(f"create {path}")

    def replace(self, path: str, data: bytes) -> None:
        raise AssertionError(f"replace {path}")

    def delete(self, path: str) -> None:
        raise AssertionError(f"delete {path}")

    def prune(self, directory: str) -> None:
        raise AssertionError(f"prune {directory}")

    def make_directory(self, directory: str) -> None:
        raise AssertionError(f"make {directory}")

    def move(self, directory: str, to: str) -> None:
        raise AssertionError(f"move {directory}")

    def copy(self, path: str, to: str, size: int) -> None:
        raise AssertionError(f"copy {to}")


class Meanwhile(Wrapped):
    """A store on which somebody else does something, once, right after a file is created."""

    def __init__(self, inner: Files, after: str, deed: Callable[[], object]) -> None:
        super().__init__(inner)
        self._after: str | None = after
        self._deed = deed

    def create(self, path: str, data: bytes) -> bool:
        created = self.inner.create(path, data)
        if self._after is not None and path.endswith(self._after):
            self._after = None
            self._deed()
        return created


def look_while_it_waits(monkeypatch: pytest.MonkeyPatch, look: Callable[[], object]) -> None:
    """Look instead of each pause of an action that this thread applies."""
    sleep, own = time.sleep, threading.get_ident()
    # It is every thread's sleep, also of those that earlier tests left.
    monkeypatch.setattr(
        "paimark.core.actions.roots.waiting.time.sleep",
        lambda seconds: look() if threading.get_ident() == own else sleep(seconds),
    )
