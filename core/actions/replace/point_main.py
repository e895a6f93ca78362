"""Changes that make another root main. Their point of no return is the entry `committed` of the journal.

The main-branch file can be replaced at any time, also by a process that stood still right before that and was
recovered meanwhile. So it is the first write of `finish`: a process that was taken over fails at its entry.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

import msgspec

from paimark.core.actions.change.change import Change, Landed
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.plan import Item
from paimark.core.actions.said import otherwise
from paimark.core.table.layout import Root
from paimark.core.table.lineage.main_branch import main_branch_name, root_exists

S = TypeVar("S", bound=msgspec.Struct)


class PointMain(Change[S]):
    """The table's name comes to mean another root."""

    @property
    @abstractmethod
    def new_main(self) -> Root: ...

    @property
    def is_pointed(self) -> bool:
        return main_branch_name(self.work.files, self.work.table) == self.new_main.branch

    def point(self, hold: Hold) -> None:
        """Write the main-branch file. Idempotent."""
        if not self.is_pointed:
            hold.require()
            self.work.files.replace(self.work.table.main_branch_file, (self.new_main.branch or "").encode())

    def can_be_main(self) -> bool:
        """Whether another engine left the new main: one that is gone never becomes main."""
        return root_exists(self.work.files, self.new_main)

    def landed(self, hold: Hold) -> Landed:
        return Landed.YES if self.is_pointed else Landed.NO

    def is_void(self, hold: Hold) -> bool:
        return not self.is_pointed and not self.can_be_main()

    def prospect(self, hold: Hold) -> Item:
        if self.is_pointed:
            return super().prospect(hold)
        name = self.new_main.label
        return otherwise(f"{name} becomes main only now, without what main got since")
