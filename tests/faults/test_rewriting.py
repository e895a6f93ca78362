"""Killed at any write of a merge, a rollback or an overwrite: main is as before or as after."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core.actions.context import Context
from core.actions.merge_base import events
from core.actions.registry import action
from core.spark.client import Engine
from core.storage.local import LocalFiles
from core.table.layout import TablePath
from core.table.lineage import Lineage
from core.table.savepoints import SavepointManager
from tests.actions.acting import applied, contents, context_on, done, planned
from tests.conftest import ORDERS
from tests.faults.fault_files import MODES, Death, FaultFiles, Mode
from tests.paimon import commit, read_rows
from tests.spark.engine_fixture import in_order

Rows = list[dict[str, Any]]


@dataclass
class Scene:
    """An action on `orders` of a database of its own, again and again from its start.

    `after` is what main then holds; `last` the newest snapshot it then has.
    """

    warehouse: Path
    table: TablePath
    action: str
    arguments: Mapping[str, object]
    start: Path
    engine: Callable[[], Engine] | None = None

    def context(self, files: FaultFiles | None = None) -> Context:
        found = context_on(self.warehouse, files)
        return replace(found, audit_path=self.start.parent / "audit", engine=self.engine)

    @property
    def directory(self) -> Path:
        return self.warehouse / self.table.directory

    def reset(self) -> None:
        shutil.rmtree(self.directory)
        shutil.copytree(self.start, self.directory)

    def run(self, fail_at: int = 0, mode: Mode = "before") -> FaultFiles:
        files = FaultFiles(LocalFiles(str(self.warehouse)), fail_at, mode)
        context = self.context(files)
        plan = action(self.action).plan(context, self.table, self.arguments)
        assert plan.refusals == ()
        if fail_at:
            with pytest.raises(Death):
                applied(context, plan)
        else:
            applied(context, plan)
        return files

    def main(self) -> tuple[int | None, Rows]:
        lineage = Lineage(LocalFiles(str(self.warehouse)), self.table.root())
        return lineage.latest_id(), in_order(read_rows(self.warehouse, self.table.full_name))

    def assert_whole(self, right: list[tuple[int | None, Rows]], when: str) -> None:
        files = LocalFiles(str(self.warehouse))
        found = self.main()
        assert found in right, when
        assert len(events(files, self.table)) == right.index(found), when
        left = set(contents(self.directory / "branch"))
        assert not [path for path in left if path.startswith(("ACTION", "RECOVER"))], when
        manager = SavepointManager(files, self.table)
        assert [each.id for each in manager.all()] == [each.id for each in manager.of_root(self.table.root())]
        lineage = Lineage(files, self.table.root())
        known = {*lineage.snapshot_ids()}
        assert all(tag.id in known for name, tag in lineage.tags() if name.startswith("paimark.")), when
        assert planned(self.context(), "recover", table=self.table).empty, when


def scene_of(
    warehouse: Path, database: str, tmp_path: Path, name: str, arguments: Mapping[str, object], *, both: bool
) -> Scene:
    """The branch `fix` has two commits more than main, which with `both` has one of its own."""
    table = TablePath(database, "orders")
    shutil.copytree(warehouse / "shop.db" / "orders", warehouse / table.directory)
    context = context_on(warehouse)
    done(context, "create-tag", table=table, name="fork")
    done(context, "create-branch", table=table, name="fix", tag="fork")
    sides = [("$branch_fix", 50), ("$branch_fix", 51), *([("", 60)] if both else [])]
    for where, key in sides:
        row = {"order_id": [key], "customer": ["x"], "price": [1.0]}
        commit(warehouse, f"{table.full_name}{where}", pa.table(row, schema=ORDERS))
    start = tmp_path / "start"
    shutil.copytree(warehouse / table.directory, start)
    return Scene(warehouse, table, name, arguments, start)


@pytest.mark.parametrize("mode", MODES)
def test_every_write_of_a_fast_forward_can_be_the_last(warehouse: Path, tmp_path: Path, mode: Mode) -> None:
    scene = scene_of(warehouse, "forward", tmp_path, "merge-branch", {"name": "fix"}, both=False)
    before = scene.main()
    writes = scene.run().writes
    right = [before, scene.main()]
    assert right[1][0] == 7
    for point, call in enumerate(writes, start=1):
        scene.reset()
        scene.run(point, mode)
        # Before anything is recovered main reads as a state that it or the branch had.
        assert 5 <= (scene.main()[0] or 0) <= 7
        done(scene.context(), "recover", table=scene.table)
        scene.assert_whole(right, f"killed {mode} write {point}, {call}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rollback", {"to": "v2"}),
        ("merge-branch", {"name": "fix", "on_conflict": "branch"}),
        ("replace-main-branch", {"name": "fix", "layout": "overwrite"}),
    ],
)
def test_every_write_around_a_rewriting_can_be_the_last(
    engine: Engine, engine_warehouse: Path, tmp_path: Path, name: str, arguments: Mapping[str, object]
) -> None:
    database = f"killed_{name.replace('-', '_')}"
    scene = scene_of(engine_warehouse, database, tmp_path, name, arguments, both=True)
    scene.engine = lambda: engine
    before = scene.main()
    writes = scene.run().writes
    right = [before, scene.main()]
    assert right[1][0] == 7
    for point, call in enumerate(writes, start=1):
        scene.reset()
        scene.run(point, "after")
        done(scene.context(), "recover", table=scene.table)
        scene.assert_whole(right, f"killed after write {point}, {call}")
