"""A table with one change that is killed at any of its writes, each time from the same start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from tests.actions.acting import ORDERS, applied, context_on, done, planned
from tests.faults.fault_files import Film, some_points
from tests.faults.trees import TreeOnDisk

_NOW = 1_780_000_000_000


class KilledChange(ABC):
    """A table of a warehouse. A subclass prepares it and then calls `_film`.

    `right_states` are the states before and after the change.
    """

    def __init__(self, warehouse: Path, table: TablePath = ORDERS) -> None:
        self._warehouse = warehouse
        self._table = table
        self._directory = warehouse / table.directory
        self._on_disk = TreeOnDisk(self._directory)
        self.right_states: list[Mapping[str, object]] = []
        self._parts = 1

    @abstractmethod
    def state(self) -> Mapping[str, object]:
        """The files of the table, without random names and contents."""

    @abstractmethod
    def _run(self, files: Files) -> None: ...

    def _film(self) -> None:
        before = self.state()
        self.film = Film(self._files(), self._on_disk)
        self._run(self.film)
        self.right_states = [before, self.state()]

    def add_parts(self, name: str, arguments: Mapping[str, object], count: int) -> None:
        """For a change of many: add the states between its parts to the right states."""
        self._parts = count
        for done_parts in range(1, count):
            self.film.put_back(self.film.point(1, "before"))
            plan = planned(self._context(), name, self._table, **arguments)
            applied(self._context(), msgspec.structs.replace(plan, parts=plan.parts[:done_parts]))
            self.right_states.append(self.state())

    def killed(self, every: int = 1) -> Iterator[str]:
        """Restore the state after each kill in turn; yields a description of the kill.

        `every`: if it is not 1, few of them, as `some_points` has them.
        """
        for point in self.film.points() if every == 1 else some_points(self.film, every):
            self.film.put_back(point)
            yield str(point)

    def killed_after(self, write: int) -> None:
        self.film.put_back(self.film.point(write))

    def killed_recovering(self, write: int, chosen: Callable[[list[str]], Iterable[int]]) -> Iterator[str]:
        """Kill the change after a write, and its recovery after each of the writes that `chosen` selects."""
        self.killed_after(write)
        recovery = Film(LocalFiles(str(self._warehouse)), self._on_disk)
        done(self._context(recovery), "recover", self._table)
        for second in chosen(recovery.writes):
            recovery.put_back(recovery.point(second))
            yield f"recovery after write {write}, killed at its write {second}"

    def recover(self) -> None:
        done(self._context(), "recover", self._table)

    def assert_whole(self, when: str) -> None:
        """The change is done fully or not at all, and another recovery does nothing."""
        assert self.state() in self.right_states, when
        self.assert_settled(when)

    def assert_settled(self, when: str) -> None:
        state = self.state()
        plan = planned(self._context(), "recover", self._table)
        assert plan.empty and all(self._is_of_parts(each) for each in plan.warnings), when
        applied(self._context(), plan)
        assert self.state() == state, when

    def _is_of_parts(self, warning: str) -> bool:
        return self._parts > 1 and f" of the {self._parts} parts of a " in warning

    def _files(self) -> Files:
        return LocalFiles(str(self._warehouse))

    def _context(self, files: Files | None = None) -> Context:
        return replace(context_on(self._warehouse, files), clock=lambda: _NOW)
