"""A table killed at any write of a change, again and again from its start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

import pytest

from core.actions.context import Context
from core.storage.files import Files
from core.storage.local import LocalFiles
from tests.actions.acting import ORDERS, applied, context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles, Mode
from tests.faults.trees import put_back

_NOW = 1_780_000_000_000


class KilledScene(ABC):
    """`orders` of a warehouse in `tmp_path`; whoever derives makes it, and a copy of it at `_start`."""

    def __init__(self, tmp_path: Path) -> None:
        self._warehouse = tmp_path / "warehouse"
        self._orders = self._warehouse / ORDERS.directory
        self._start, self._kept = tmp_path / "start", tmp_path / "kept"

    @abstractmethod
    def state(self) -> dict[str, object]:
        """What lies in the table, apart from what chance decides."""

    @abstractmethod
    def _run(self, files: FaultFiles) -> None: ...

    def reset(self) -> None:
        put_back(self._start, self._warehouse)

    def keep(self) -> None:
        put_back(self._warehouse, self._kept)

    def return_to_kept(self) -> None:
        put_back(self._kept, self._warehouse)

    def die(self, point: int, mode: Mode) -> None:
        with pytest.raises(Death):
            self._run(FaultFiles(self._files(), point, mode))

    def die_recovering(self, point: int) -> None:
        with pytest.raises(Death):
            done(self._context(FaultFiles(LocalFiles(str(self._warehouse)), point, "after")), "recover")

    def writes_of_recovery(self) -> list[str]:
        counting = FaultFiles(LocalFiles(str(self._warehouse)))
        done(self._context(counting), "recover")
        return counting.writes

    def recover(self) -> None:
        done(self._context(), "recover")

    def assert_nothing_to_recover(self) -> None:
        found = self.state()
        plan = planned(self._context(), "recover")
        assert plan.empty and not plan.warnings
        applied(self._context(), plan)
        assert self.state() == found

    def _files(self) -> Files:
        return LocalFiles(str(self._warehouse))

    def _context(self, files: FaultFiles | None = None) -> Context:
        return replace(context_on(self._warehouse, files), clock=lambda: _NOW)
