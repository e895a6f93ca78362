"""Kills at any write of a drop, an undrop, a rename, a deletion for good: the table is whole at one place."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from paimark.core.actions.change.journal import TakenOver
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action as action_named
from paimark.core.errors import NotFound, Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import table_exists
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import dropped_tables, half_deleted
from tests.actions.acting import ORDERS, contents, context_on, done, planned
from tests.actions.replace.test_misdirected import StandsStill, recovered
from tests.faults.fault_files import Film, some_points
from tests.faults.trees import TreeOnDisk
from tests.wording import about

# A temporary file of a lock: a recovery can't tell it from that of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.ACTION\.[0-9a-f-]{36}$")
OTHER = TablePath("shop", "renamed")
PREPARED: dict[str, tuple[dict[str, object], bool]] = {
    "drop-table": ({}, False),
    "undrop": ({}, True),
    "rename-table": ({"to": "renamed"}, False),
    "delete-dropped": ({}, True),
}


class Moving:
    """One action on `shop.orders`, which has a branch and a savepoint, with the state after each write."""

    def __init__(self, action: str, template: Path, warehouse: Path) -> None:
        shutil.copytree(template, warehouse)
        self.context = context_on(warehouse)
        self.warehouse = warehouse
        done(self.context, "create-branch", name="b", tag="v2")
        done(self.context, "create-savepoint", snapshot=4)
        self.before = contents(warehouse / ORDERS.directory)
        arguments, is_dropped = PREPARED[action]
        if is_dropped:
            done(self.context, "drop-table")
        self.film = Film(LocalFiles(str(warehouse)), TreeOnDisk(warehouse / "shop.db"))
        done(context_on(warehouse, self.film), action, ORDERS, **arguments)

    @property
    def places(self) -> list[TablePath]:
        """Where the table is by its name."""
        return [table for table in (ORDERS, OTHER) if table_exists(self.context.files, table)]

    @property
    def trash(self) -> int:
        return len(dropped_tables(self.context.files, "shop"))

    def is_whole(self, table: TablePath) -> bool:
        now = contents(self.warehouse / table.directory)
        return {path: data for path, data in now.items() if not _ANYBODYS.search(path)} == self.before


def settle(context: Context, moving: Moving) -> None:
    """What a person does who finds the table at one of its names, or in the trash."""
    for table in moving.places:
        if not planned(context, "recover", table).empty:
            done(context, "recover", table)
    if moving.trash:
        done(context, "undrop")


def test_a_trash_on_another_disk_takes_no_table(warehouse_template: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    shutil.copytree(warehouse_template, warehouse)
    places = [each for each in ("/dev/shm", "/var/tmp") if Path(each).is_dir()]
    elsewhere = [each for each in places if os.stat(each).st_dev != os.stat(warehouse).st_dev]
    if not elsewhere:
        pytest.skip(f"{' and '.join(places)} are on the disk of temporary files")
    with TemporaryDirectory(dir=elsewhere[0]) as other:
        (warehouse / "shop.db/.paimark-trash").symlink_to(other)
        context, before = context_on(warehouse), contents(warehouse / ORDERS.directory)
        with pytest.raises(Refused, match=about("another disk", "shop.db/orders")):
            done(context, "drop-table")
        if not planned(context, "recover", ORDERS).empty:
            done(context, "recover")
        assert contents(warehouse / ORDERS.directory) == before
        assert os.listdir(other) == []


@pytest.mark.parametrize("action", ["drop-table", "undrop", "rename-table"])
def test_every_write_can_be_the_last(
    action: str, warehouse_template: Path, tmp_path: Path, is_long: bool
) -> None:
    moving = Moving(action, warehouse_template, tmp_path / "warehouse")
    assert any(call.startswith("move ") for call in moving.film.writes)
    for point in moving.film.points() if is_long else some_points(moving.film, 4):
        moving.film.put_back(point)
        assert len(moving.places) + moving.trash == 1, point
        settle(moving.context, moving)
        [table] = moving.places
        assert moving.is_whole(table), point
        assert planned(moving.context, "recover", table).empty, point
        done(moving.context, "create-tag", table, name="after")


@pytest.mark.parametrize("action", ["drop-table", "rename-table"])
def test_who_was_taken_back_moves_nothing(action: str, warehouse_template: Path, tmp_path: Path) -> None:
    """A process stands still right before the move, and is taken for dead meanwhile."""
    warehouse = tmp_path / "warehouse"
    shutil.copytree(warehouse_template, warehouse)
    context = context_on(warehouse)
    before = contents(warehouse / ORDERS.directory)
    store = StandsStill(context.files, lambda path, data: not data, lambda: recovered(context))
    with pytest.raises(TakenOver):
        done(context_on(warehouse, store), action, ORDERS, **PREPARED[action][0])
    assert contents(warehouse / ORDERS.directory) == before
    assert not table_exists(context.files, OTHER) and not dropped_tables(context.files, "shop")


def test_a_deletion_for_good_goes_on(warehouse_template: Path, tmp_path: Path, is_long: bool) -> None:
    moving = Moving("delete-dropped", warehouse_template, tmp_path / "warehouse")
    for point in moving.film.points() if is_long else some_points(moving.film, 8):
        moving.film.put_back(point)
        half = half_deleted(moving.context.files, "shop")
        # Nobody takes out what is half deleted.
        assert bool(half) != bool(moving.trash) or not (half or moving.trash), point
        if half:
            with pytest.raises(NotFound):
                planned(moving.context, "undrop")
        if half or moving.trash:
            done(moving.context, "delete-dropped")
        trash = moving.warehouse / "shop.db/.paimark-trash"
        assert not list(trash.rglob("*")), point


def films(template: Path, tmp_path: Path) -> Iterator[tuple[str, str, Film]]:
    for number, action in enumerate(PREPARED):
        yield action, action, Moving(action, template, tmp_path / f"tables-{number}").film


@pytest.mark.parametrize("action", ["drop-table", "rename-table"])
def test_a_job_that_commits_meanwhile_refuses_it(
    action: str, warehouse_template: Path, tmp_path: Path
) -> None:
    shutil.copytree(warehouse_template, tmp_path / "warehouse")
    context = context_on(tmp_path / "warehouse")
    plan = planned(context, action, ORDERS, **PREPARED[action][0])
    snapshots = tmp_path / "warehouse" / ORDERS.directory / "snapshot"
    newest = max(snapshots.glob("snapshot-*"), key=lambda path: int(path.name.partition("-")[2]))
    number = int(newest.name.partition("-")[2])
    text = newest.read_text().replace(f'"id": {number}', f'"id": {number + 1}')
    (snapshots / f"snapshot-{number + 1}").write_text(text)
    (snapshots / "LATEST").write_text(str(number + 1))
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        action_named(action).apply(context, plan, lambda line: None)
    assert table_exists(context.files, ORDERS)


@pytest.mark.parametrize("action", ["drop-table", "rename-table"])
def test_another_table_that_was_made_under_the_name_stays(
    action: str, warehouse_template: Path, tmp_path: Path
) -> None:
    shutil.copytree(warehouse_template, tmp_path / "warehouse")
    context = context_on(tmp_path / "warehouse")
    table = tmp_path / "warehouse" / ORDERS.directory
    plan = planned(context, action, ORDERS, **PREPARED[action][0])
    other = table / "snapshot/snapshot-5"
    other.write_text(re.sub(r"manifest-list-[^\"]+", "manifest-list-of-another", other.read_text()))
    with pytest.raises(Refused, match=about("shop.orders", "plan")):
        action_named(action).apply(context, plan, lambda line: None)
    assert table_exists(context.files, ORDERS)
