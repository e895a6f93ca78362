"""`delete-dropped`: delete a dropped table for good, with all its files.

Nobody may take out of the trash what is half deleted: its directory gets another name first, or on an object
store its schema goes first. Done again, it goes on with what a process that died has left.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions import audit
from paimark.core.actions.checks import require_allowed, text_argument
from paimark.core.actions.context import Context, Counting, Progress
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.plan import Done, Item, Outcome, Plan, Step
from paimark.core.actions.plan_wording import final
from paimark.core.actions.roots.root_files import sizes_below
from paimark.core.actions.tables.moving import what_it_has
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted, minute
from paimark.core.storage.files import Files
from paimark.core.storage.open import moves_directories
from paimark.core.storage.parallel import each_of
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, find_dropped, half_deleted

ACTION = "delete-dropped"
_AT_ONCE = 1000


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `id`, of the dropped table; that of the newest when None. Raises `NotFound`."""
    dropped, directory = _found(context.files, table, text_argument(arguments, "id"))
    sizes = [bytes_ for _, bytes_ in sizes_below(context.files, directory)]
    is_going = directory == dropped.going or not context.files.names(dropped.place.root().schemas)
    when = f"{table.full_name}, dropped {minute(dropped.dropped_at)}"
    lost = f"what is left of {when}" if is_going else f"{when}: {what_it_has(context.files, dropped.place)}"
    return Plan(
        headline=f"Delete {when}, for good.",
        arguments={"id": dropped.id},
        fingerprint=dropped.id,
        steps=(Step("delete", directory, counted(len(sizes), "file"), sum(sizes)),),
        items=(Item("loses", lost, "table-goes", is_grave=True), final()),
        phrase=table.full_name,
        freed_files=len(sizes),
        freed_bytes=sum(sizes),
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Delete the files. Idempotent. Raises `NotFound` if the table was taken out of the trash."""
    require_allowed(context, plan)
    started, table, files = context.clock(), parse_table_name(plan.table), context.files
    dropped, directory = _found(files, table, str(plan.arguments["id"]))
    if moves_directories(files.uri) and directory != dropped.going:
        files.move(directory, directory := dropped.going)
    found = list(sizes_below(files, directory))
    schemas = dropped.place.root().schemas
    for path in [path for path, _ in found if path.startswith(f"{schemas}/")]:
        files.delete(path)
    for number, _ in enumerate(each_of(files.delete, [path for path, _ in found]), 1):
        if number % _AT_ONCE == 0:
            progress(Counting(f"deleted {number:,} of {len(found):,} files"))
    files.prune(directory)
    removed = Removed(len(found), sum(bytes_ for _, bytes_ in found))
    done = Done(
        message=f"Deleted {plan.table}{removed.said(plan)}",
        result={"dropped_id": dropped.id, **removed.facts},
        before=f"in the trash as {dropped.id}",
        after="deleted for good",
    )
    return audit.finished(context, plan, done, started, progress)


def _found(files: Files, table: TablePath, wanted: str | None) -> tuple[DroppedTable, str]:
    """The dropped table, and where it lies. Raises `Refused` while it is just being moved."""
    try:
        dropped = find_dropped(files, table, wanted)
    except NotFound:
        half = [each for each in half_deleted(files, table.database) if each.table == table]
        if not (found := [each for each in half if each.id.startswith(wanted or "")]):
            raise
        dropped = found[0]
        if moves_directories(files.uri):
            return dropped, dropped.going
    if files.exists(dropped.place.journal) and not moves_directories(files.uri):
        raise Refused(
            f"{table.full_name} is not all in the trash yet", f"Run `paimark recover {table.word}` first."
        )
    return dropped, dropped.place.directory
