"""What scripts may import from `core`."""

from __future__ import annotations

from pathlib import Path

import pytest

import core
from core import Savepoint, SavepointManager, find_table, open_files
from core.table.lineage.lineage import Lineage
from core.table.manifests.files import data_manifests
from tests.interop.ours import act


def test_each_name_is_there_and_no_other() -> None:
    assert all(hasattr(core, name) for name in core.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = core.nothing_of_the_kind


def test_a_savepoint_is_read_by_a_script(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    act(warehouse, "create-savepoint", "shop.orders")
    files = open_files(str(warehouse))
    manager = SavepointManager(files, find_table(files, "shop.orders"))
    saved = Savepoint.from_path(files, manager.savepoint_path(1))
    assert [saved] == manager.all()
    lineage = Lineage(files, manager.table.root())
    manifests = data_manifests(files, manager.table, lineage.snapshot(saved.saved_snapshot_id))
    assert [each.file_name for each in manager.data_manifests(1)] == [each.file_name for each in manifests]
