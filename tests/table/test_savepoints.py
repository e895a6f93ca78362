"""Savepoints: ids, health, and which root they belong to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.errors import Corrupt, NotFound
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests
from paimark.core.table.records import Savepoint
from paimark.core.table.savepoints import SavepointManager
from paimark.core.table.system_tables import SYSTEM_TABLES, system_table
from tests.interop.ours import act
from tests.paimon import open_table
from tests.table.branches import create_branch
from tests.wording import about

ORDERS = TablePath("shop", "orders")


def save(
    warehouse: Path,
    savepoint_id: int,
    snapshot_id: int,
    *roots: Root,
    branch: str = "main",
    verified: bool = True,
) -> Savepoint:
    """A savepoint file, and its tag in these roots: the bytes of the snapshot."""
    savepoint = Savepoint(
        id=savepoint_id,
        saved_snapshot_id=snapshot_id,
        schema_id=0,
        full_manifest_list=f"manifest-list-{savepoint_id}",
        record_count=snapshot_id * 4,
        save_time=1_800_000_000_000 + savepoint_id,
        snapshot_time=1_700_000_000_000 + snapshot_id,
        branch=branch,
        verified_at=1_800_000_000_000 if verified else None,
        comment=None if savepoint_id % 2 else "before the sale",
    )
    path = warehouse / ORDERS.savepoint(savepoint_id)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(savepoint.to_json())
    for root in roots:
        (warehouse / root.tags).mkdir(exist_ok=True)
        content = (warehouse / ORDERS.root().snapshot(snapshot_id)).read_bytes()
        (warehouse / root.tag(savepoint_tag(savepoint_id))).write_bytes(content)
    return savepoint


@pytest.fixture
def manager(warehouse: Path) -> SavepointManager:
    return SavepointManager(LocalFiles(str(warehouse)), ORDERS)


def test_a_table_without_savepoints(manager: SavepointManager) -> None:
    assert manager.all() == []
    assert manager.ids() == []
    assert manager.latest_savepoint_id() is None
    with pytest.raises(NotFound, match=about("shop.orders", "no savepoint 1")) as caught:
        manager.savepoint(1)
    assert about("none").search(caught.value.hint)


def test_a_table_that_was_dropped_is_not_one_without_savepoints(
    manager: SavepointManager, warehouse: Path
) -> None:
    shutil.rmtree(warehouse / ORDERS.directory)
    for use in (
        manager.all,
        manager.ids,
        lambda: manager.savepoint(1),
        lambda: manager.of_root(ORDERS.root()),
    ):
        with pytest.raises(NotFound, match=r"^Table shop\.orders does not exist$"):
            use()


def test_savepoints_come_by_number_and_not_by_text(manager: SavepointManager, warehouse: Path) -> None:
    saved = [save(warehouse, each, 3, ORDERS.root()) for each in (10, 9, 2)]
    assert manager.all() == saved[::-1]
    assert (manager.ids(), manager.latest_savepoint_id()) == ([2, 9, 10], 10)
    assert manager.savepoint(9) == saved[1]
    assert manager.savepoint_exists(9)
    assert not manager.savepoint_exists(3)
    assert manager.savepoint_path(9) == "shop.db/orders/savepoint/savepoint-9"
    assert manager.savepoint_directory == "shop.db/orders/savepoint"
    with pytest.raises(NotFound) as caught:
        manager.savepoint(3)
    assert caught.value.hint == "It has 2, 9, 10."


def test_claims_lists_and_hints_are_no_savepoints(manager: SavepointManager, warehouse: Path) -> None:
    save(warehouse, 2, 3, ORDERS.root())
    for name in ("CLAIM-3", "LATEST", "manifest-list-5ec5d4cd", "savepoint-x", ".savepoint-4.5ec5-d4"):
        (warehouse / ORDERS.savepoints / name).write_text("99")
    assert manager.ids() == [2]
    assert manager.latest_savepoint_id() == 2


def test_a_half_written_savepoint_is_told_apart(manager: SavepointManager, warehouse: Path) -> None:
    save(warehouse, 1, 3, ORDERS.root())
    (warehouse / ORDERS.savepoint(2)).write_text('{"version": 1,')
    assert [each.id for each in manager.all()] == [1]
    assert list(manager.unreadable) == [ORDERS.savepoint(2)]
    with pytest.raises(Corrupt, match=about("savepoint-2", "not", "savepoint record")):
        manager.savepoint(2)


def test_a_savepoint_belongs_to_every_root_that_holds_its_tag(
    manager: SavepointManager, warehouse: Path
) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    main, fix = ORDERS.root(), ORDERS.root("fix")
    save(warehouse, 1, 2, main, fix)
    save(warehouse, 2, 3, main)
    save(warehouse, 3, 2, fix, branch="fix")
    assert [each.id for each in manager.of_root(main)] == [1, 2]
    assert [each.id for each in manager.of_root(fix)] == [1, 3]
    assert [each.id for each in manager.all()] == [1, 2, 3]


def test_a_savepoint_whose_tag_is_gone_is_loudly_unprotected(
    manager: SavepointManager, warehouse: Path
) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    main, fix = ORDERS.root(), ORDERS.root("fix")
    save(warehouse, 1, 2, main)
    save(warehouse, 2, 3)
    save(warehouse, 3, 2, branch="fix")
    save(warehouse, 4, 2, fix)
    assert [(each.id, health) for each, health in manager.health_of_root(main)] == [
        (1, "ok"),
        (2, "unprotected"),
    ]
    assert [(each.id, health) for each, health in manager.health_of_root(fix)] == [
        (3, "unprotected"),
        (4, "ok"),
    ]
    assert [each.id for each in manager.of_root(main)] == [1]


def test_a_savepoint_without_its_proof_is_unverified(manager: SavepointManager, warehouse: Path) -> None:
    save(warehouse, 1, 2, ORDERS.root(), verified=False)
    save(warehouse, 2, 2, verified=False)
    healths = [(each.id, health) for each, health in manager.health_of_root(ORDERS.root())]
    assert healths == [(1, "unverified"), (2, "unprotected")]


def test_a_tag_without_a_savepoint_file_is_no_savepoint(manager: SavepointManager, warehouse: Path) -> None:
    open_table(warehouse, "shop.orders").create_tag("savepoint.7", 3)
    save(warehouse, 1, 2, ORDERS.root())
    assert [each.id for each in manager.of_root(ORDERS.root())] == [1]
    assert manager.foreign_tags(ORDERS.root()) == ["savepoint.7"]


def test_the_system_table_begins_with_the_five_columns(manager: SavepointManager, warehouse: Path) -> None:
    save(warehouse, 1, 2, ORDERS.root())
    save(warehouse, 2, 5, ORDERS.root())
    columns = SYSTEM_TABLES["savepoints"].columns
    assert columns[:5] == (
        ("savepoint_id", "BIGINT"),
        ("saved_snapshot_id", "BIGINT"),
        ("schema_id", "BIGINT"),
        ("save_time", "BIGINT"),
        ("record_count", "BIGINT"),
    )
    assert [column.name for column in columns[5:]] == [
        "snapshot_time",
        "branch",
        "comment",
        "created_by",
        "health",
        "protected",
    ]
    assert list(system_table("savepoints").read(manager.files, ORDERS.root())) == [
        (1, 2, 0, 1_800_000_000_001, 8, 1_700_000_000_002, "main", None, "manual", "ok", None),
        (2, 5, 0, 1_800_000_000_002, 20, 1_700_000_000_005, "main", "before the sale", "manual", "ok", None),
    ]


def test_the_manifests_of_a_savepoint_are_those_of_its_snapshot(
    manager: SavepointManager, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    act(warehouse, "create-savepoint", "shop.orders")
    [saved] = manager.all()
    snapshot = Lineage(manager.files, ORDERS.root()).snapshot(saved.saved_snapshot_id)
    expected = data_manifests(manager.files, ORDERS, snapshot)
    assert [each.file_name for each in manager.data_manifests(1)] == [each.file_name for each in expected]
