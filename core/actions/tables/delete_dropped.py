"""`delete-dropped`: delete a dropped table for good, with all its files.

Its directory gets another name first, so that nobody takes out of the trash what is half deleted. Done again,
it goes on with what a process that died has left.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions import audit
from paimark.core.actions.checks import require_allowed, text_argument
from paimark.core.actions.context import Context, Counting, Progress
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.plan import Item, Outcome, Plan, Step
from paimark.core.actions.roots.root_files import sizes_below
from paimark.core.actions.said import final
from paimark.core.actions.tables.moving import what_it_has
from paimark.core.errors import NotFound
from paimark.core.figures import counted, minute
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, find_dropped, half_deleted

ACTION = "delete-dropped"
_AT_ONCE = 1000


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `id`, of the dropped table; that of the newest when None. Raises `NotFound`."""
    dropped, is_going = _found(context.files, table, text_argument(arguments, "id"))
    directory = dropped.going if is_going else dropped.place.directory
    sizes = [bytes_ for _, bytes_ in sizes_below(context.files, directory)]
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
    dropped, is_going = _found(files, table, str(plan.arguments["id"]))
    if not is_going:
        files.move(dropped.place.directory, dropped.going)
    found = list(sizes_below(files, dropped.going))
    for number, _ in enumerate(each_of(files.delete, [path for path, _ in found]), 1):
        if number % _AT_ONCE == 0:
            progress(Counting(f"deleted {number:,} of {len(found):,} files"))
    files.prune(dropped.going)
    freed = sum(bytes_ for _, bytes_ in found)
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"Deleted {plan.table}{Removed(len(found), freed).said(plan)}",
        result={"dropped_id": dropped.id, "freed_files": len(found), "freed_bytes": freed},
    )
    before = f"in the trash as {dropped.id}"
    audit.record(context, plan, outcome, started, progress, before=before, after="deleted for good")
    return outcome


def _found(files: Files, table: TablePath, wanted: str | None) -> tuple[DroppedTable, bool]:
    """The dropped table, and whether its deletion was begun."""
    try:
        return find_dropped(files, table, wanted), False
    except NotFound:
        for each in half_deleted(files, table.database):
            if each.table == table and each.id.startswith(wanted or ""):
                return each, True
        raise
