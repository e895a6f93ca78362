"""A table with a branch that can become main, and a change of it that is killed at any of its writes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, contents, done
from tests.faults.killed_change import KilledChange

_CHANCE = re.compile(r"main-20\d{6}T\d{6}-[0-9a-f]{6}")
_TOKEN = re.compile(r'"(token|time)":("[0-9a-f]{32}"|\d+)')
# Temporary files that no journal names: a recovery can't tell them from those of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.(LATEST|EARLIEST|ACTION|RECOVER-[^/]+)\.[0-9a-f-]{36}$")


@dataclass(frozen=True)
class Case:
    """An action on a table prepared for it. `heads` are main's newest snapshots before, during and after."""

    name: str
    action: str
    arguments: dict[str, object]
    prepare: tuple[Callable[[Context], object], ...]
    heads: tuple[int, ...]


class LaneData(KilledChange):
    """One case on a copy of the warehouse."""

    def __init__(self, case: Case, template: Path, tmp_path: Path) -> None:
        super().__init__(tmp_path / "warehouse")
        self._case = case
        self.name = case.name
        shutil.copytree(template / "shop.db/orders", self._directory)
        for prepare in case.prepare:
            prepare(self._context())
        self._saved = {each.id for each in SavepointManager(self._files(), ORDERS).all()}
        assert self._head() == case.heads[0]
        self._film()
        assert self._head() == case.heads[-1]
        assert self.right_states[0] != self.right_states[1]

    def assert_reads_rightly(self, when: str) -> None:
        """Main's newest snapshot is one of `heads`, and has its schema; every savepoint has its tag."""
        files = self._files()
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
        """The files of the table, without random names and contents."""
        return {
            _CHANCE.sub("main-archive", path): _TOKEN.sub("", _CHANCE.sub("main-archive", _text(data)))
            for path, data in contents(self._directory).items()
            if not _ANYBODYS.search(path)
        }

    def _branches(self) -> list[str]:
        return [path.name.removeprefix("branch-") for path in self._directory.glob("branch/branch-*")]

    def _head(self) -> int | None:
        files = self._files()
        return Lineage(files, main_root(files, ORDERS)).latest_id()

    def _run(self, files: Files) -> None:
        done(self._context(files), self._case.action, ORDERS, **self._case.arguments)


def _text(data: bytes) -> str:
    return data.decode("latin-1")
