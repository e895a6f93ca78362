"""A change on a pretended S3, repeated from the same start with different failing requests."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.actions.apart_from_chance import apart_from_chance, difference
from tests.storage.pretending import FULL, Fault, PretendingServer

_NOW = 1_780_000_000_000
# A failed change may leave a correct hint behind, and operations of the log with their numbers.
_ANYWAY = re.compile(r"/operations/|/savepoint/LATEST$|/snapshot/(LATEST|EARLIEST)$")
_SAVED = re.compile(rf"{_ANYWAY.pattern}|/savepoint/|/tag-savepoint\.1$")


@dataclass(frozen=True)
class Case:
    """An action on `shop.orders`, which `prepare` has changed on a local disk before.

    `saves_first`: the action begins with a savepoint, which stays even if the rest fails.
    """

    name: str
    action: str
    arguments: dict[str, object] = field(default_factory=dict)
    prepare: tuple[Callable[[Context], object], ...] = ()
    saves_first: bool = False


class FailingScene:
    """One case, with its table in the bucket of `server`. `requests` are those of the undisturbed change."""

    def __init__(
        self, case: Case, server: PretendingServer, files: Files, template: Path, tmp_path: Path
    ) -> None:
        self.case = case
        self.server = server
        self._files = files
        self._warehouse = tmp_path / "warehouse"
        shutil.copytree(template / "shop.db/orders", self._warehouse / ORDERS.directory)
        for prepare in case.prepare:
            prepare(replace(context_on(self._warehouse), clock=lambda: _NOW))
        # With the log of operations, which `contents` leaves out: an undo needs it.
        there = [path for path in self._warehouse.rglob("*") if path.is_file()]
        self._start = {f"warehouse/{path.relative_to(self._warehouse)}": path.read_bytes() for path in there}
        self.begin()
        before = self.state()
        first = len(server.requests)
        self.run()
        self.requests = server.requests[first:]
        self.right_states = [before, self.state()]
        assert before != self.right_states[1]

    def begin(self) -> None:
        """Restore the start: the table, and a server without faults."""
        self.server.objects = dict(self._start)
        self.server.marks = {}
        self.server.fault = lambda method, key: None

    def run(self) -> None:
        done(self._context(), self.case.action, ORDERS, **self.case.arguments)

    @contextmanager
    def failing(self, fault: Fault, first: int, last: int | None = None) -> Iterator[None]:
        """Requests `first` to `last`, counted from 1, meet this fault; without `last`, all later ones too."""
        count = 0

        def spoil(method: str, key: str) -> Fault | None:
            nonlocal count
            count += 1
            # A full store can still be read.
            is_met = fault != FULL or method == "PUT"
            return fault if is_met and first <= count <= (last or count) else None

        self.server.fault = spoil
        yield
        self.server.fault = lambda method, key: None

    def recover(self) -> None:
        done(self._context(), "recover")

    def assert_whole(self, when: str) -> None:
        """The change is done fully or not at all, and there is nothing to recover."""
        state = self.state()
        assert state in self.right_states, (when, [difference(state, each) for each in self.right_states])
        plan = planned(self._context(), "recover")
        assert plan.empty and not plan.warnings, when

    def assert_done(self, when: str) -> None:
        state = self.state()
        assert state == self.right_states[1], (when, difference(state, self.right_states[1]))

    def state(self) -> Counter[tuple[str, str]]:
        """The objects in the bucket, without random names and contents."""
        anyway = _SAVED if self.case.saves_first else _ANYWAY
        objects = self.server.objects.items()
        return apart_from_chance({path: data for path, data in objects if not anyway.search(path)})

    def _context(self) -> Context:
        return replace(context_on(self._warehouse, self._files), clock=lambda: _NOW)
