"""`replace-main-branch --layout overwrite`: main gets the branch's rows, as one new commit of its own.

For tables that other engines use by their plain name: nothing moves, no id is used again, and main stays what
it is. Taking it back is a rollback.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.actions import audit, claims, journal, undo_log
from core.actions.checks import read_only_refusals, require_allowed, require_unmoved, undone_on_failure
from core.actions.columns import column_refusals
from core.actions.context import Context, Progress
from core.actions.fast_forward import write_schemas
from core.actions.merge_journal import begun_of, found_again, made_of, take_back
from core.actions.merge_record import record_merge
from core.actions.merge_survey import Survey, survey
from core.actions.overwriting import (
    commit_steps,
    keep_safe,
    rewrite,
    rewriting_refusals,
    rows_of,
)
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.removal import only_forward
from core.errors import FileMissing, NotFound, Refused, UsageError
from core.table.catalog import parse_table_name
from core.table.files import size_of
from core.table.layout import TablePath
from core.table.lineage import Lineage

OVERWRITE = "overwrite"


def plan(context: Context, table: TablePath, name: str, arguments: Mapping[str, object]) -> Plan:
    """Raises `UsageError` for arguments that only the pointer layout has."""
    if arguments.get("drop_previous") is True:
        raise UsageError("An overwrite keeps main's history", "Leave --drop-previous out.")
    files, found = context.files, survey(context.files, table, name, whole=True)
    start, head = found.start, found.branch.snapshot
    main = start.head.snapshot
    refusals = [*read_only_refusals(context), *found.schema_refusals, *rewriting_refusals(found.target)]
    if newest := Lineage(files, found.branch.root).latest_schema():
        refusals += column_refusals(newest, f"Branch {name}", found.target)
    if held := journal.refusal(context, table):
        refusals.append(held)
    rows = size = 0
    try:
        rows, size = size_of(files, table, head)
    except FileMissing as error:
        refusals.append(Refusal(f"Branch {name} is not whole: {error.message}", "Repair it first."))
    safety = claims.next_id(files, table)
    return Plan(
        action=undo_log.REPLACEMENT,
        table=table.full_name,
        summary=f"Give main of {table.full_name} the rows of branch {name} (its snapshot {head.id}), "
        f"instead of those of snapshot {main.id}",
        arguments={"name": name, "layout": OVERWRITE},
        fingerprint=found.fingerprint,
        steps=(
            Step("create", table.savepoint(safety), f"keeps snapshot {main.id}, as it is now"),
            *(Step("copy", start.root.schema(number), f"of {name}") for number, _ in found.new_schemas),
            Step("copy", f"the rows of {name}", f"{rows} rows before key merging, through Spark", size),
            Step("create", start.root.snapshot(main.id + 1), "one OVERWRITE of the whole table"),
        ),
        kept=(f"Every snapshot, tag and savepoint of main, and branch {name} with its own tags",),
        warnings=(
            "Streaming readers skip OVERWRITE commits by default: they will not see the rows change",
            f"Jobs that write to branch {name} go on writing there, and not to main",
        ),
        refusals=tuple(refusals),
        undo=f"paimark undo {table.full_name}",
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Write the rows. Raises `Refused` when main or the branch moved."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table, name = parse_table_name(plan.table), str(plan.arguments["name"])
    with running(token):
        found = _as_planned(context, table, plan)
        hold = journal.take(context, table, plan, token, msgspec.to_builtins(begun_of(found)))
        with undone_on_failure(
            table, lambda: journal.give_up(context, hold, lambda: recover(context, hold, progress))
        ):
            found = _as_planned(context, table, plan)
            safety = keep_safe(context, found.start, f"before main got the rows of {name}", progress)
            write_schemas(context.files, found, progress)
            rows = rows_of(found.branch.root, found.branch.snapshot)
            made = rewrite(context, hold, found.target, rows, progress)
            if made is None:
                raise Refused(f"Nothing was committed to {plan.table}", "Look at the engine's log.")
        with only_forward(table):
            record_merge(context, hold, found, made)
            # Rows take their time: somebody elsewhere may have thought this process dead.
            journal.require_hold(context, hold)
            journal.release(context, hold)
    outcome = Outcome(
        action=plan.action,
        table=plan.table,
        message=f"main of {plan.table} has the rows of branch {name}, as snapshot {made.id}",
        result={"branch_name": name, "snapshot_id": made.id, "savepoint_id": safety},
        undo=f"paimark undo {table.full_name}",
    )
    before, after = f"snapshot {found.start.head.snapshot.id}", f"snapshot {made.id}"
    audit.record(context, plan, outcome, started, progress, before=before, after=after)
    return outcome


def is_overwrite(plan: Plan) -> bool:
    return plan.arguments.get("layout") == OVERWRITE


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted overwrite does."""
    return commit_steps(made_of(context.files, table, begun), "main has the branch's rows")


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted overwrite that was committed, else take back what was prepared."""
    made = made_of(context.files, hold.table, hold.journal)
    undo_log.clean(context, hold.table)
    if made is None:
        take_back(context.files, hold)
        progress("nothing was committed: main is as it was")
        return
    record_merge(context, hold, found_again(context.files, hold), made)
    progress(f"main has the branch's rows, as snapshot {made.id}")


def _as_planned(context: Context, table: TablePath, plan: Plan) -> Survey:
    try:
        found = survey(context.files, table, str(plan.arguments["name"]), whole=True)
    except NotFound as error:
        raise Refused(f"{error.message}, since the plan was made", "Make a new plan.") from error
    require_unmoved(table, plan, found.fingerprint)
    return found
