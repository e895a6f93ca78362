"""`undrop`: take a dropped table out of the trash, with its branches, tags, savepoints and log.

The move is one rename. What was begun is done, or nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from paimark.core.actions import audit
from paimark.core.actions.change import journal
from paimark.core.actions.checks import require_allowed, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import NO_DATA_FILE, Item, Outcome, Plan, Refusal, Step, raise_first
from paimark.core.actions.roots.as_made import log
from paimark.core.actions.tables.moving import what_it_has
from paimark.core.errors import Corrupt
from paimark.core.figures import minute
from paimark.core.table.catalog import parse_table_name, table_exists
from paimark.core.table.layout import TablePath
from paimark.core.table.trash import DroppedTable, find_dropped

ACTION = "undrop"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `id`, of the dropped table; that of the newest when None. Raises `NotFound`."""
    dropped = find_dropped(context.files, table, text_argument(arguments, "id"))
    has = what_it_has(context.files, dropped.place)
    return Plan(
        headline=f"Take {table.full_name}, dropped {minute(dropped.dropped_at)}, out of the trash.",
        arguments={"id": dropped.id},
        fingerprint=dropped.id,
        steps=(Step("move", dropped.place.directory, f"to {table.directory}: {NO_DATA_FILE}"),),
        items=(Item("keeps", f"{has}, as they were"),),
        cost="one move, no data file",
        refusals=tuple(_refusals(context, dropped)),
        undo=f"paimark drop-table {table.word}",
    )


def _refusals(context: Context, dropped: DroppedTable) -> list[Refusal]:
    table, held = dropped.table, None
    # Whatever else a journal says: the table is dropped, so it is of a drop that is done.
    with suppress(Corrupt):
        held = journal.current(context, dropped.place)
    if held is not None and held.standing(context) == "running":
        reason = f"{table.full_name} is just being dropped by {held.journal.owner}"
        return [Refusal(reason, "Wait for that to end.")]
    if table_exists(context.files, table):
        hint = f"`paimark drop-table {table.word}` takes it out of the way."
        return [Refusal(f"There is another table {table.full_name} by now", hint, "name-is-taken")]
    if not context.files.entries(table.directory):
        return []
    return [
        Refusal(
            f"{table.directory} is not empty: a job wrote there after the drop",
            "Stop that job, and move what lies there away.",
            "name-is-taken",
        )
    ]


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Move it back. Raises `Refused` if the name is taken, and `NotFound` if somebody else was faster."""
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    files, dropped = context.files, find_dropped(context.files, table, str(plan.arguments["id"]))
    raise_first(_refusals(context, dropped))
    _end_drop(context, dropped)
    # A job that died may have left empty directories.
    files.prune(table.directory)
    files.move(dropped.place.directory, table.directory)
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"Took {plan.table}, dropped {minute(dropped.dropped_at)}, out of the trash",
        result={"dropped_id": dropped.id},
        undo=plan.undo,
    )
    before, way = f"in the trash as {dropped.id}", f"`{plan.undo}` drops it again"
    log(context, table, plan, outcome, before=before, after=plan.table, no_way_back=way)
    audit.record(context, plan, outcome, started, progress, before=before, after=plan.table)
    return outcome


def _end_drop(context: Context, dropped: DroppedTable) -> None:
    """The table is dropped, so the drop is done: its process may have died before it removed its journal."""
    context.files.delete(dropped.place.journal)
    for path in journal.leftovers(context, dropped.place):
        context.files.delete(path)
