"""`rename-table`: give a table another name, with its branches, tags, savepoints and log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.checks import required_text
from paimark.core.actions.context import Context
from paimark.core.actions.names import unseen_reason
from paimark.core.actions.plan import Item, Plan, Refusal
from paimark.core.actions.tables.moving import (
    TableMove,
    move_refusals,
    moves,
    noticed_by,
    require_as_planned,
    state_of,
    what_it_has,
)
from paimark.core.actions.tables.places import holds_anything
from paimark.core.quoting import quoted
from paimark.core.storage.files import Files
from paimark.core.storage.open import moves_directories
from paimark.core.table.catalog import databases
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests import iceberg
from paimark.core.table.names import near_or_all_names, parse_table_name, split_name


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `to`, a name in the same database, or `database.name`. Raises `UsageError`, `Corrupt`."""
    to = _named(table, required_text(arguments, "to"))
    name, new, has = table.full_name, to.full_name, what_it_has(context.files, table)
    way = moves(context.files, table, to)
    return Plan(
        headline=f"Rename {name} to {new}, with {has}.",
        arguments={"to": new},
        fingerprint=state_of(context.files, table),
        steps=way.steps,
        items=(
            Item("loses", f"the name {name}, for all who read or write it", "name-goes", is_grave=True),
            *noticed_by(context, table),
            *way.items,
            Item("keeps", f"{has}, and the log, under the new name"),
        ),
        phrase=name,
        cost=way.cost,
        refusals=tuple(_refusals(context, table, to)),
        undo=f"paimark rename-table {to.word} --to {table.word}",
    )


def _named(table: TablePath, text: str) -> TablePath:
    parts = split_name(text)
    return parse_table_name(".".join(map(quoted, parts if len(parts) > 1 else (table.database, *parts))))


def _refusals(context: Context, table: TablePath, to: TablePath) -> list[Refusal]:
    files, refusals = context.files, move_refusals(context, table)
    if to.database not in (known := databases(files)):
        hint = near_or_all_names(to.database, known)
        refusals.append(Refusal(f"There is no database {to.database}", hint))
    elif to == table:
        refusals.append(Refusal(f"{table.full_name} has that name already", "Choose another one."))
    elif holds_anything(files, to) or _is_named(files, to):
        refusals.append(Refusal(f"{to.directory} exists already", "Choose another name."))
    if reason := unseen_reason(to.name, "a table"):
        refusals.append(Refusal(reason, "Choose another name."))
    if metadata := iceberg.in_use(files, table):
        refusals.append(
            Refusal(
                f"{metadata[0]} has Iceberg metadata, which name each file with the table's directory",
                "Delete them first: a commit of Paimon's own engines writes them anew.",
                "iceberg-names-files",
            )
        )
    for root in all_roots(files, table):
        schema = Lineage(files, root).latest_schema()
        if schema is not None and "path" in schema.options:
            refusals.append(
                Refusal(
                    f"The option path of {root.label} names the table's directory",
                    f"Take it out: ALTER TABLE {table.full_name} UNSET TBLPROPERTIES ('path').",
                )
            )
    return refusals


def _is_named(files: Files, to: TablePath) -> bool:
    """Whether there is a directory of that name, though it be empty."""
    above, _, _ = to.directory.rpartition("/")
    return moves_directories(files.uri) and to.name in files.names(above)


class RenameState(msgspec.Struct, frozen=True):
    """The table's names before and after, each `database.name` with backticks where needed."""

    name: str  # its name before
    to: str  # its new name


class RenameTable(TableMove[RenameState]):
    """It is refused for more reasons than a drop: somebody reads the table by its new name."""

    State = RenameState

    @classmethod
    def begin(cls, work: Work) -> Self:
        require_as_planned(work)
        return cls(work, RenameState(work.table.full_name, str(work.plan.arguments["to"])))

    def _refusals(self) -> list[Refusal]:
        return _refusals(self.work.context, self.work.table, self._to)

    def no_way_back(self) -> str:
        return f"`{self.work.plan.undo}` gives it its old name back"

    def done(self) -> Done:
        name, to = self.state.name, self.state.to
        return Done(
            message=f"Renamed {name} to {to}",
            result={"old_name": name, "table_name": to},
            before=name,
            after=to,
        )

    @property
    def _to(self) -> TablePath:
        return parse_table_name(self.state.to)
