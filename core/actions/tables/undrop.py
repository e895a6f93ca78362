"""`undrop`: take a dropped table out of the trash, with its branches, tags, savepoints and log.

Where that is one rename, what was begun is done, or nothing is. On an object store it is a change with a
journal, which lies under the table's name from the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Self

import msgspec

from paimark.core.actions import audit
from paimark.core.actions.change import driver, journal
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import require_allowed, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, raise_first
from paimark.core.actions.roots.unlocked_changes import log
from paimark.core.actions.tables.moving import TableMove, moves, what_it_has
from paimark.core.actions.tables.places import joined, walked
from paimark.core.errors import Corrupt
from paimark.core.figures import minute
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.open import moves_directories
from paimark.core.storage.paths import is_inside
from paimark.core.table.catalog import first_file, is_made, parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, find_dropped

ACTION = "undrop"
# Bytes. A request that comes late has written metadata, or the copy of a file that is there.
_MOST_COMPARED = 1 << 20


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `id`, of the dropped table; that of the newest when None. Raises `NotFound`."""
    dropped = find_dropped(context.files, table, text_argument(arguments, "id"))
    has, way = what_it_has(context.files, dropped.place), moves(context.files, dropped.place, table)
    return Plan(
        headline=f"Take {table.full_name}, dropped {minute(dropped.dropped_at)}, out of the trash.",
        arguments={"id": dropped.id},
        fingerprint=dropped.id,
        steps=way.steps,
        items=(Item("keeps", f"{has}, as they were"),),
        cost=way.cost,
        refusals=tuple(_refusals(context, dropped)),
        undo=f"paimark drop-table {table.word}",
    )


def _refusals(context: Context, dropped: DroppedTable) -> list[Refusal]:
    table, files, held = dropped.table, context.files, None
    is_moved = moves_directories(files.uri)
    # Whatever else a journal says: the table is dropped, so it is of a drop that is done.
    with suppress(Corrupt):
        held = journal.current(context, dropped.place)
    if held is not None and held.standing(context) == "running":
        reason = f"{table.full_name} is just being dropped by {held.journal.owner}"
        return [Refusal(reason, "Wait for that to end.")]
    if held is not None and not is_moved:
        reason = f"{table.full_name} is not all in the trash yet: its drop was interrupted"
        return [Refusal(reason, f"Run `paimark recover {table.word}`.")]
    if is_made(files, table):
        hint = f"`paimark drop-table {table.word}` takes it out of the way."
        return [Refusal(f"There is another table {table.full_name} by now", hint, "name-is-taken")]
    if is_moved and not files.entries(table.directory):
        return []
    other = first_file(files, table.directory) or "another directory" if is_moved else _other(files, dropped)
    if not other:
        return []
    return [
        Refusal(
            f"{table.directory} is not empty: there is {other}, of a job that went on after the drop, or of "
            "a request that the store carried out late",
            "Stop that job, and move what lies there away.",
            "name-is-taken",
        )
    ]


def _other(files: Files, dropped: DroppedTable) -> str:
    """A file under the table's name that is neither of a lock, nor the same in the dropped table."""
    there, here = dropped.place.directory, dropped.table.directory
    for listed in walked(files, here):
        for each in listed.files:
            path = listed.path(each)
            is_small = each.size <= _MOST_COMPARED and is_inside(each.name)
            if not is_small or files.read(joined(here, path)) != read_if_there(files, joined(there, path)):
                return joined(here, path)
    return ""


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Move it back. Raises `Refused` if the name is taken, and `NotFound` if somebody else was faster."""
    if not moves_directories(context.files.uri):
        return driver.apply(context, plan, progress)
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    files, dropped = context.files, find_dropped(context.files, table, str(plan.arguments["id"]))
    raise_first(_refusals(context, dropped))
    _end_drop(context, dropped)
    # A job that died may have left empty directories.
    files.prune(table.directory)
    files.move(dropped.place.directory, table.directory)
    done = _done(plan, dropped)
    log(context, table, plan, done.message, before=done.before, after=done.after, no_way_back=_way(plan))
    return audit.finished(context, plan, done, started, progress)


def _done(plan: Plan, dropped: DroppedTable) -> Done:
    return Done(
        message=f"Took {plan.table}, dropped {minute(dropped.dropped_at)}, out of the trash",
        result={"dropped_id": dropped.id},
        before=f"in the trash as {dropped.id}",
        after=plan.table,
    )


def _way(plan: Plan) -> str:
    return f"`{plan.undo}` drops it again"


class UndropState(msgspec.Struct, frozen=True):
    """The id of the dropped table."""

    id: str  # the id of the dropped table


class Undrop(TableMove[UndropState]):
    """Of an object store."""

    State = UndropState

    @classmethod
    def begin(cls, work: Work) -> Self:
        dropped = find_dropped(work.files, work.table, str(work.plan.arguments["id"]))
        raise_first(_refusals(work.context, dropped))
        return cls(work, UndropState(dropped.id))

    def check(self, hold: Hold) -> None:
        raise_first(_refusals(self.work.context, find_dropped(self.work.files, self._to, self.state.id)))

    def no_way_back(self) -> str:
        return _way(self.work.plan)

    def done(self) -> Done:
        return _done(self.work.plan, self._dropped)

    @property
    def _dropped(self) -> DroppedTable:
        return DroppedTable(self.work.table, self.state.id)

    @property
    def _from(self) -> TablePath:
        return self._dropped.place

    @property
    def _to(self) -> TablePath:
        return self.work.table


def _end_drop(context: Context, dropped: DroppedTable) -> None:
    """The table is dropped, so the drop is done: its process may have died before it removed its journal."""
    context.files.delete(dropped.place.journal)
    for path in journal.leftovers(context, dropped.place):
        context.files.delete(path)
