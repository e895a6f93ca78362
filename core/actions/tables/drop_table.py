"""`drop-table`: move a table to the trash of its database, whole as it is. `undrop` takes it out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Plan
from paimark.core.actions.tables.moving import (
    TableMove,
    move_refusals,
    moves,
    noticed_by,
    require_as_planned,
    state_of,
    what_it_has,
)
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, new_drop


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """No arguments. Raises `Corrupt` if the table's branches can't be read."""
    name, has = table.full_name, what_it_has(context.files, table)
    way = moves(context.files, table, new_drop(table, context.clock()).place)
    return Plan(
        headline=f"Drop {name}: {has} go to the trash.",
        arguments={},
        fingerprint=state_of(context.files, table),
        steps=way.steps,
        items=(
            Item("loses", f"{name}, for all who read or write it", "table-goes", is_grave=True),
            *noticed_by(context, table),
            *way.items,
            Item("keeps", f"{has} in the trash, until somebody deletes them there"),
        ),
        phrase=name,
        cost=way.cost,
        refusals=tuple(move_refusals(context, table)),
        undo=f"paimark undrop {table.word}",
    )


class DropState(msgspec.Struct, frozen=True):
    """The id of the dropped table."""

    id: str  # the id of the dropped table: what follows its name in the trash


class DropTable(TableMove[DropState]):
    """After the move nothing is left to recover."""

    State = DropState

    @classmethod
    def begin(cls, work: Work) -> Self:
        require_as_planned(work)
        return cls(work, DropState(new_drop(work.table, work.since).id))

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

    @property
    def _to(self) -> TablePath:
        return DroppedTable(self.work.table, self.state.id).place
