"""`drop-table`: move a table to the trash of its database, whole as it is. `undrop` takes it out again.

The move is one rename, which is the commit. The journal moves with the table, and is ended there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import require_unmoved
from paimark.core.actions.context import Context
from paimark.core.actions.plan import NO_DATA_FILE, Item, Plan, Step, raise_first
from paimark.core.actions.tables.moving import move_refusals, noticed_by, state_of, what_it_has
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, new_drop

ACTION = "drop-table"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """No arguments. Raises `Corrupt` if the table's branches can't be read."""
    name, has = table.full_name, what_it_has(context.files, table)
    return Plan(
        headline=f"Drop {name}: {has} go to the trash.",
        arguments={},
        fingerprint=state_of(context.files, table),
        steps=(Step("move", table.directory, f"to the trash of {table.database}: {NO_DATA_FILE}"),),
        items=(
            Item("loses", f"{name}, for all who read or write it", "table-goes", is_grave=True),
            *noticed_by(context, table),
            Item("keeps", f"{has} in the trash, until somebody deletes them there"),
        ),
        phrase=name,
        cost="one move, no data file",
        refusals=tuple(move_refusals(context, table)),
        undo=f"paimark undrop {table.word}",
    )


class DropState(msgspec.Struct, frozen=True):
    """The id of the dropped table."""

    id: str


class DropTable(Change[DropState]):
    """The move is the point of no return. After it nothing is left to recover."""

    State = DropState

    @classmethod
    def begin(cls, work: Work) -> Self:
        require_unmoved(work.table, work.plan, state_of(work.files, work.table))
        return cls(work, DropState(new_drop(work.table, work.since).id))

    def check(self, hold: Hold) -> None:
        raise_first(move_refusals(self.work.context, self.work.table))
        require_unmoved(self.work.table, self.work.plan, state_of(self.work.files, self.work.table))

    def commit(self, hold: Hold) -> None:
        place = self._dropped.place
        self.work.files.move(self.work.table.directory, place.directory)
        hold.table = place

    def landed(self, hold: Hold) -> Landed:
        """Whoever finds the journal finds it in the table that was not moved."""
        return Landed.YES if hold.table == self._dropped.place else Landed.NO

    def finish(self, hold: Hold) -> None:
        return

    def no_way_back(self) -> str:
        return f"`{self.work.plan.undo}` takes it out of the trash"

    def done(self) -> Done:
        table = self.work.plan.table
        return Done(
            message=f"Dropped {table}: it is in the trash as {self.state.id}",
            result={"dropped_id": self.state.id},
            before=table,
            after=f"in the trash as {self.state.id}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        return [Step("check", self.work.table.directory, "it was not moved")]

    @property
    def _dropped(self) -> DroppedTable:
        return DroppedTable(self.work.table, self.state.id)
