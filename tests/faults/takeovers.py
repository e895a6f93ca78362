"""A table with a branch to take over, killed at any write of a change, again and again from its start."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.actions.context import Context
from core.actions.registry import action
from core.storage.local import LocalFiles
from core.table.lineage.lineage import Lineage
from core.table.lineage.main_branch import main_root
from core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, applied, contents, context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles, Mode
from tests.faults.trees import put_back

NOW = 1_780_000_000_000
_CHANCE = re.compile(r"main-20\d{6}T\d{6}-[0-9a-f]{6}")
_TOKEN = re.compile(r'"(token|time)":("[0-9a-f]{32}"|\d+)')
# Half-written files that no journal names: a recovery can't tell them from those of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.(LATEST|EARLIEST|ACTION|RECOVER-[^/]+)\.[0-9a-f-]{36}$")


@dataclass(frozen=True)
class Case:
    """An action on a table prepared for it; `heads` are main's newest snapshots before, between and after."""

    name: str
    action: str
    arguments: dict[str, object]
    prepare: tuple[Callable[[Context], object], ...]
    heads: tuple[int, ...]


class Scene:
    """One case on a copy of the warehouse."""

    def __init__(self, case: Case, template: Path, tmp_path: Path) -> None:
        self._case = case
        self._warehouse = tmp_path / "warehouse"
        self._orders = self._warehouse / "shop.db/orders"
        self._start, self._kept = tmp_path / "start", tmp_path / "kept"
        shutil.copytree(template / "shop.db/orders", self._orders)
        for prepare in case.prepare:
            prepare(self._context())
        shutil.copytree(self._warehouse, self._start)
        before, counting = self.state(), FaultFiles(LocalFiles(str(self._warehouse)))
        self._saved = {each.id for each in SavepointManager(counting, ORDERS).all()}
        assert self._head() == case.heads[0]
        self._run(counting)
        self.writes = counting.writes
        assert self._head() == case.heads[-1]
        after = self.state()
        assert after != before
        self.right_states = [before, after]

    def reset(self) -> None:
        self._put(self._start)

    def keep(self) -> None:
        put_back(self._warehouse, self._kept)

    def return_to_kept(self) -> None:
        self._put(self._kept)

    def die(self, point: int, mode: Mode) -> None:
        with pytest.raises(Death):
            self._run(FaultFiles(LocalFiles(str(self._warehouse)), point, mode))

    def die_recovering(self, point: int) -> None:
        with pytest.raises(Death):
            done(self._context(FaultFiles(LocalFiles(str(self._warehouse)), point, "after")), "recover")

    def writes_of_recovery(self) -> list[str]:
        counting = FaultFiles(LocalFiles(str(self._warehouse)))
        done(self._context(counting), "recover")
        return counting.writes

    def recover(self) -> None:
        done(self._context(), "recover")

    def assert_whole(self, when: str) -> None:
        """What was done is either nothing or all, and recovering again does nothing."""
        found = self.state()
        assert found in self.right_states, when
        plan = planned(self._context(), "recover")
        assert plan.empty and not plan.warnings
        assert self.state() == found

    def assert_reads_rightly(self, when: str) -> None:
        """Main's newest snapshot is one that it is to have, with its schema; no savepoint is loose."""
        files = LocalFiles(str(self._warehouse))
        root = main_root(files, ORDERS)
        lineage = Lineage(files, root)
        newest, schema = lineage.latest(), lineage.latest_schema()
        assert newest is not None and newest.id in self._case.heads, when
        assert schema is not None and schema.id >= newest.schema_id, when
        assert {each.id for each in SavepointManager(files, ORDERS).all()} == self._saved, when
        for each in self._saved:
            roots = [ORDERS.root(), *(ORDERS.root(name) for name in self._branches())]
            assert any(files.exists(root.tag(f"savepoint.{each}")) for root in roots), when

    def state(self) -> dict[str, object]:
        """What lies in the table, apart from names that chance decides."""
        return {
            _CHANCE.sub("main-archive", path): _TOKEN.sub("", _CHANCE.sub("main-archive", _text(data)))
            for path, data in contents(self._orders).items()
            if not _ANYBODYS.search(path)
        }

    def _branches(self) -> list[str]:
        found = (self._orders / "branch").glob("branch-*")
        return [path.name.removeprefix("branch-") for path in found]

    def _head(self) -> int | None:
        files = LocalFiles(str(self._warehouse))
        return Lineage(files, main_root(files, ORDERS)).latest_id()

    def _put(self, directory: Path) -> None:
        put_back(directory, self._warehouse)

    def _run(self, files: FaultFiles) -> None:
        context = self._context(files)
        applied(context, action(self._case.action).plan(context, ORDERS, self._case.arguments))

    def _context(self, files: FaultFiles | None = None) -> Context:
        return replace(context_on(self._warehouse, files), clock=lambda: NOW)


def _text(data: bytes) -> str:
    return data.decode("latin-1")
