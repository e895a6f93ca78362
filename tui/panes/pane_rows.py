"""The rows that a pane's thread read, on their way to the pane."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from paimark.core.errors import NotFound
from paimark.core.table.definition.units import unit_of
from paimark.tui.records.sources import RowSource
from paimark.tui.session import Opened, Session, Target
from paimark.tui.work.background import ThreadReport

S = TypeVar("S", bound=RowSource)


class PaneRows(msgspec.Struct, Generic[S], frozen=True):
    """The rows that a pane's thread read. `total` is their number if `rows` are not all of them yet.

    First rows, which the whole replaces, have no `fingerprint`. `left_out`: why files could not be read.
    `unit` is what counts in the rows count, as in `unit_of`."""

    opened: Opened
    rows: S
    fingerprint: Hashable
    total: int | None = None
    left_out: tuple[str, ...] = ()
    unit: str = unit_of(None)

    @property
    def is_part(self) -> bool:
        """Whether there are more rows than were read so far."""
        return self.total is not None and self.total > len(self.rows)


class RowsReport(ThreadReport[PaneRows[S]]):
    """Adds the unit. Raises `NotFound` instead of a report of no rows that were read where main no longer is.

    Another program that makes a branch main moves the files away, which looks like a table without any.
    """

    def __init__(
        self, report: ThreadReport[PaneRows[S]], session: Session, target: Target, unit: Callable[[], str]
    ) -> None:
        super().__init__(report.slot, report.generation)
        self._report = report
        self._session = session
        self._target = target
        self._unit = unit

    def __call__(self, result: PaneRows[S]) -> None:
        if not len(result.rows) and self._session.open(self._target).root != result.opened.root:
            raise NotFound(f"{self._target.table.full_name} moved while it was read")
        self._report(replace(result, unit=self._unit()))
