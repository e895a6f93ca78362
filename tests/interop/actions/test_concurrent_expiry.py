"""A stock expiry runs during our savepoint or expiry: each kept version has its rows, or was refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.savepoints import SavepointManager
from tests.interop.actions.test_garbage_collection import grow, make_table
from tests.interop.judge import Judge, Row
from tests.interop.ours import act
from tests.long import long_but
from tests.storage.wrapped import Wrapped

KINDS = ("primary key", "append", "append in partitions")
# The deletions of one expiry before which the other actor acts.
BEFORE = range(1, 40, 6)
OLD, NEWEST = 5, 9


class Past(NamedTuple):
    """A table with nine snapshots, and the rows of its saved versions."""

    warehouse: Path
    table: str
    saved: dict[str, list[Row]]
    old: list[Row]
    newest: list[Row]

    def again(self, number: int) -> Path:
        """A copy of the warehouse."""
        copy = self.warehouse.with_name(f"copy-{number}")
        shutil.copytree(self.warehouse, copy)
        return copy

    def assert_kept(self, judge: Judge, copy: Path) -> None:
        """Every savepoint, and main, has its rows."""
        files, table = LocalFiles(str(copy)), parse_table_name(self.table)
        made = {f"savepoint.{each.id}": each for each in SavepointManager(files, table).all()}
        assert made.keys() >= self.saved.keys()
        for name, savepoint in made.items():
            rows = {OLD: self.old, NEWEST: self.newest}.get(savepoint.saved_snapshot_id) or self.saved[name]
            assert judge.read(copy, self.table, tag=name) == rows
        assert judge.read(copy, self.table) == self.newest
        assert not list((copy / table.savepoints).glob("CLAIM-*"))


@pytest.fixture(params=long_but(KINDS, "primary key"))
def past(request: pytest.FixtureRequest, judge: Judge, tmp_path: Path) -> Past:
    kind: str = request.param
    warehouse = tmp_path / "warehouse"
    table = make_table(warehouse, kind)
    grow(judge, warehouse, table, kind, range(1, 3))
    act(warehouse, "create-savepoint", table)
    first = judge.read(warehouse, table)
    number = 3
    while len(judge.read(warehouse, f"{table}$snapshots")) < NEWEST:
        grow(judge, warehouse, table, kind, range(number, number + 1))
        number += 1
    old = judge.read(warehouse, table, snapshot=OLD)
    return Past(warehouse, table, {"savepoint.1": first}, old, judge.read(warehouse, table))


def save(
    warehouse: Path, table: str, snapshot: int, tell: Callable[[str], None] = lambda line: None
) -> int | None:
    """Create a savepoint; returns its id, or None if it is refused."""
    context = open_context(str(warehouse), {VERIFY_WAIT_OPTION: "1 ms"}, read_only=False)
    chosen = action("create-savepoint")
    try:
        plan = chosen.plan(context, parse_table_name(table), {"snapshot": snapshot})
        made = chosen.apply(context, plan, tell).result["savepoint_id"]
    except PaimarkError:
        return None
    assert isinstance(made, int)
    return made


def test_a_savepoint_made_while_stock_expires_is_whole_or_refused(judge: Judge, past: Past) -> None:
    """One of the newest snapshot always succeeds; one of an expiring snapshot only if all its files exist."""
    for deletion in BEFORE:
        copy = past.again(deletion)
        with judge.expiring(copy, past.table, deletion) as go_on:

            def tell(line: str, go_on: Callable[[], None] = go_on) -> None:
                # The expiry read the tags before ours existed, and deletes data between our two checks.
                if line.startswith("waiting"):
                    go_on()

            assert save(copy, past.table, NEWEST) == 2
            save(copy, past.table, OLD, tell)
        past.assert_kept(judge, copy)


def test_both_expire_at_once(judge: Judge, past: Past) -> None:
    for deletion in BEFORE:
        copy = past.again(deletion)
        with judge.expiring(copy, past.table, deletion):
            act(copy, "expire-snapshots", past.table, retain_last=1)
            assert save(copy, past.table, NEWEST) == 2
        past.assert_kept(judge, copy)
        assert judge.clean_orphans(copy, past.table) == []


class Interrupted(Wrapped):
    """A store on which another actor acts before a given deletion, counted from 1."""

    def __init__(self, warehouse: Path, number: int, deed: Callable[[], object]) -> None:
        super().__init__(LocalFiles(str(warehouse)))
        self._left = number
        self._deed = deed

    def delete(self, path: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._deed()
        super().delete(path)


def test_stock_expires_amid_ours(judge: Judge, past: Past) -> None:
    for deletion in BEFORE:
        copy = past.again(deletion)

        def meanwhile(copy: Path = copy) -> None:
            judge.expire(copy, past.table)
            assert save(copy, past.table, NEWEST) == 2

        context = open_context(str(copy), {}, read_only=False)
        ours = replace(context, files=Interrupted(copy, deletion, meanwhile))
        expiry = action("expire-snapshots")
        expiry.apply(
            ours,
            expiry.plan(ours, parse_table_name(past.table), {"retain_last": 1}),
            lambda line: None,
        )
        past.assert_kept(judge, copy)
        assert judge.clean_orphans(copy, past.table) == []
