"""`undrop`: take a dropped table out of the trash, with its branches, tags, savepoints and log.

The move is one rename. What was begun is done, or nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping

from paimark.core.actions import audit
from paimark.core.actions.change.journal import leftovers, new_token
from paimark.core.actions.change.operations import Operation, append
from paimark.core.actions.checks import require_allowed, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import NO_DATA_FILE, Item, Outcome, Plan, Refusal, Step, raise_first
from paimark.core.actions.tables.moving import what_it_has
from paimark.core.figures import minute
from paimark.core.table.catalog import parse_table_name
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
        refusals=tuple(_refusals(context, table)),
        undo=f"paimark drop-table {table.word}",
    )


def _refusals(context: Context, table: TablePath) -> list[Refusal]:
    if not context.files.entries(table.directory):
        return []
    return [
        Refusal(
            f"{table.directory} is not empty: another table of the name, or what a job wrote after the drop",
            f"Move it away, for example by `paimark drop-table {table.word}`.",
            "name-is-taken",
        )
    ]


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Move it back. Raises `Refused` if the name is taken, and `NotFound` if somebody else was faster."""
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    files, dropped = context.files, find_dropped(context.files, table, str(plan.arguments["id"]))
    raise_first(_refusals(context, table))
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
    append(
        files,
        table,
        Operation(
            number=0,
            token=new_token(),
            action=ACTION,
            request=dict(plan.request),
            user=context.user,
            host=context.host,
            time=started,
            summary=outcome.message,
            before=f"in the trash as {dropped.id}",
            after=plan.table,
            no_way_back=f"`{plan.undo}` drops it again",
        ),
    )
    audit.record(
        context, plan, outcome, started, progress, before=f"in the trash as {dropped.id}", after=plan.table
    )
    return outcome


def _end_drop(context: Context, dropped: DroppedTable) -> None:
    """The table is dropped, so the drop is done: its process may have died before it removed its journal."""
    context.files.delete(dropped.place.journal)
    for path in leftovers(context, dropped.place):
        context.files.delete(path)
