"""`merge-branch`: what a branch has since its fork, or its last merge, becomes main's too.

When main has not moved it goes on along the branch; else the rows are merged, and written as one commit.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.actions import audit, claims, journal, merge_sql, undo_log
from core.actions.checks import (
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    text_argument,
    undone_on_failure,
)
from core.actions.columns import column_refusals
from core.actions.context import Context, Progress
from core.actions.fast_forward import append_snapshots, copy_tags, new_tags, write_schemas
from core.actions.merge_journal import begun_of, found_again, kept_of, made_of, take_back
from core.actions.merge_record import record_merge
from core.actions.merge_scope import where_changed
from core.actions.merge_survey import Survey, survey
from core.actions.overwriting import (
    Rows,
    asked,
    keep_safe,
    rewrite,
    rewriting_refusals,
    version_of,
)
from core.actions.owner import running
from core.actions.pins import merge_tag
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.removal import only_forward
from core.errors import FileMissing, NotFound, Refused, UsageError
from core.spark.protocol import Version
from core.table.catalog import parse_table_name
from core.table.files import size_of
from core.table.forks import is_same_commit
from core.table.layout import TablePath
from core.table.records import Snapshot

ACTION = "merge-branch"
_CHOICES = ("fail", "branch", "main")
_LOST = "The branch dropped a column of main's, or made it narrower: the merge can't be taken back"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch; `on_conflict`, `fail` unless `branch` or `main` wins."""
    name = required_text(arguments, "name")
    choice = text_argument(arguments, "on_conflict") or "fail"
    if choice not in _CHOICES:
        raise UsageError(f"on_conflict is {', '.join(_CHOICES[:2])} or {_CHOICES[2]}, not {choice}")
    found = survey(context.files, table, name)
    head, main = found.branch.snapshot, found.start.head.snapshot
    refusals = [*read_only_refusals(context), *found.schema_refusals]
    if held := journal.refusal(context, table):
        refusals.append(held)
    given: dict[str, str | int | bool | None] = {"name": name, "on_conflict": choice, "kind": found.kind}
    if found.kind == "nothing":
        return Plan(
            action=ACTION,
            table=table.full_name,
            summary=f"main of {table.full_name} has all of branch {name} already (its snapshot {head.id})",
            arguments=given,
            fingerprint=found.fingerprint,
            refusals=tuple(read_only_refusals(context)),
            empty=True,
        )
    safety = claims.next_id(context.files, table)
    lost = column_refusals(found.start.schema, "main", found.target)
    steps = [Step("create", table.savepoint(safety), f"keeps snapshot {main.id} of main, as it is now")]
    steps += [Step("copy", found.start.root.schema(number), f"of {name}") for number, _ in found.new_schemas]
    further, more = (
        _fast_forward(context, found) if found.kind == "fast-forward" else _rewriting(context, found)
    )
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=_summary(table, found),
        arguments=given,
        fingerprint=found.fingerprint,
        steps=(*steps, *further),
        kept=(f"Branch {name}, and main's rows as they are as savepoint {safety}",),
        warnings=(*_warnings(found, choice), *([_LOST] if lost else [])),
        refusals=(*refusals, *more),
        undo="" if lost else f"paimark undo {table.full_name}",
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Merge. Raises `Refused` when main or the branch moved since the plan, and for conflicts."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table = parse_table_name(plan.table)
    if plan.empty:
        return Outcome(action=ACTION, table=plan.table, message=plan.summary, result={"snapshot_id": None})
    with running(token):
        found = _as_planned(context, table, plan)
        hold = journal.take(context, table, plan, token, msgspec.to_builtins(begun_of(found)))
        with undone_on_failure(table, lambda: journal.give_up(context, hold, lambda: _undo(context, hold))):
            found = _as_planned(context, table, plan)
            # Whether it can be merged comes first: what is refused leaves no savepoint.
            choice = str(plan.arguments["on_conflict"])
            with journal.beating(context, hold):
                rows = None if found.kind == "fast-forward" else _rows(context, found, choice, progress)
            safety = keep_safe(context, found.start, f"before merge of {plan.arguments['name']}", progress)
            hold = journal.note(context, hold, f"savepoint {safety} keeps what was")
            write_schemas(context.files, found, progress)
            journal.require_hold(context, hold)
            if rows is None:
                made = append_snapshots(context, found, progress)
            else:
                # Nothing to write: all that the branch changed main has, or keeps.
                main = found.start.head.snapshot
                made = rewrite(context, hold, found.target, rows, progress) or main
        with only_forward(table):
            _finish(context, hold, found, made, progress)
            # Rows take their time: somebody elsewhere may have thought this process dead.
            journal.require_hold(context, hold)
            journal.release(context, hold)
    return _outcome(context, plan, found, made, safety, started, progress)


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted merge does."""
    kept, made = kept_of(begun), made_of(context.files, table, begun)
    if made is None:
        return [Step("check", "main", f"nothing of branch {kept.branch} came: it is as it was")]
    return [Step("create", f"snapshots up to {made.id}", f"what is missing of branch {kept.branch}")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish a merge of which main has something, or take back what was prepared. The caller ends it."""
    made = made_of(context.files, hold.table, hold.journal)
    undo_log.clean(context, hold.table)
    if made is None:
        take_back(context.files, hold)
        progress("nothing was merged: main is as it was")
        return
    found = found_again(context.files, hold)
    if found.kind == "fast-forward":
        made = append_snapshots(context, found, progress)
    _finish(context, hold, found, made, progress)
    progress(f"the merge is in main, up to snapshot {made.id}")


def _rows(context: Context, found: Survey, choice: str, progress: Progress) -> Rows:
    """What main is to get. Raises `Refused` for conflicts, and for removed rows that no key matches."""
    versions, target, where = _versions(found), found.target, where_changed(context.files, found)
    if found.kind == "append":
        unkeyed = merge_sql.Unkeyed(where)
        (counted,) = asked(context, target, versions, unkeyed.count_removed, progress)
        if counted["removed"] and choice != "branch":
            raise Refused(
                f"Branch {found.branch.root.label} also removed {counted['removed']} rows, "
                "and without a primary key main's rows are not matched with them",
                "With --on-conflict branch main loses them too, as one overwrite of the table.",
            )
        sql = unkeyed.replayed if counted["removed"] else unkeyed.added
        return Rows(versions, sql, bool(counted["removed"]))
    schema = target.schema
    columns = [field.name for field in schema.fields]
    queries = merge_sql.Keyed(
        keys=schema.primary_keys,
        columns=columns,
        partition_keys=schema.partition_keys,
        branch_wins=choice == "branch",
        main_base=merge_sql.MAIN_BASE if merge_sql.MAIN_BASE in versions else merge_sql.BASE,
        where=where,
    )
    if choice == "fail":
        _require_no_conflict(context, found, versions, queries, progress)
    return Rows(versions, queries.rows, True, queries.partitions, queries.common)


def _require_no_conflict(
    context: Context,
    found: Survey,
    versions: Mapping[str, Version],
    queries: merge_sql.Keyed,
    progress: Progress,
) -> None:
    if listed := asked(context, found.target, versions, queries.conflicts, progress):
        count = listed[0]["conflicts"]
        first = ", ".join(each["key"] for each in listed) + (", ..." if count > len(listed) else "")
        raise Refused(
            f"{count} key{'' if count == 1 else 's'} changed in main and in branch "
            f"{found.branch.root.label}, to different rows: {first}",
            "Say who wins with --on-conflict branch or --on-conflict main.",
        )


def _finish(context: Context, hold: journal.Hold, found: Survey, made: Snapshot, progress: Progress) -> None:
    if found.kind == "fast-forward":
        copy_tags(context, found, made.id, progress)
    record_merge(context, hold, found, made)


def _undo(context: Context, hold: journal.Hold) -> None:
    if made_of(context.files, hold.table, hold.journal) is not None:
        raise Refused(f"main of {hold.table.full_name} has a part of it")
    take_back(context.files, hold)


def _as_planned(context: Context, table: TablePath, plan: Plan) -> Survey:
    try:
        found = survey(context.files, table, str(plan.arguments["name"]))
    except NotFound as error:
        raise Refused(f"{error.message}, since the plan was made", "Make a new plan.") from error
    require_unmoved(table, plan, found.fingerprint)
    return found


def _versions(found: Survey) -> dict[str, Version]:
    branch, main = found.branch.root, found.start.root
    versions = {
        merge_sql.BASE: version_of(branch, found.base),
        merge_sql.HEAD: version_of(branch, found.branch.snapshot),
        merge_sql.MAIN_BASE: version_of(found.base_root, found.main_base),
        merge_sql.MAIN: version_of(main, found.start.head.snapshot),
    }
    if is_same_commit(found.base, found.main_base):
        del versions[merge_sql.MAIN_BASE]
    return versions


def _fast_forward(context: Context, found: Survey) -> tuple[list[Step], list[Refusal]]:
    main, name = found.start.root, found.branch.root.label
    head = found.branch.snapshot
    tags, clashes = new_tags(context.files, found)
    steps = [
        Step("create", main.tag(merge_tag(name, head.id)), "pins what main and branch share"),
        *(
            Step("copy", main.snapshot(number), f"of {name}")
            for number in range(found.base.id + 1, head.id + 1)
        ),
        *(Step("copy", main.tag(tag), f"of {name}") for tag in tags),
    ]
    refusals = []
    if clashes:
        named = ", ".join(clashes)
        reason = f"main and branch {name} have tags of one name at different snapshots: {named}"
        refusals.append(Refusal(reason, "Delete them on one side first."))
    return steps, refusals


def _rewriting(context: Context, found: Survey) -> tuple[list[Step], list[Refusal]]:
    start, schema = found.start, found.target.schema
    name = start.root.table.full_name
    refusals = rewriting_refusals(found.target)
    if any("MAP" in msgspec.json.encode(field.type).decode() for field in schema.fields):
        refusals.append(
            Refusal(f"{name} has a MAP column, and maps can't be compared", "Replace main instead.")
        )
    engine = schema.options.get("merge-engine", "deduplicate").strip().lower()
    if schema.primary_keys and engine != "deduplicate":
        refusals.append(
            Refusal(f"{name} merges rows of a key by {engine}", "Only deduplicate can be merged.")
        )
    rows = size = 0
    try:
        rows, size = size_of(context.files, start.root.table, found.branch.snapshot)
        for each in (found.base, found.main_base, start.head.snapshot):
            size_of(context.files, start.root.table, each)
    except FileMissing as error:
        refusals.append(Refusal(f"What is merged is not whole: {error.message}", "Repair it first."))
    what = "the rows that it added, as one APPEND"
    if found.kind == "keyed":
        what = "the partitions it changed, as one OVERWRITE"
    steps = [
        Step(
            "check",
            f"branch {found.branch.root.label}",
            f"compared with its base, through Spark: {rows} rows",
            size,
        ),
        Step("create", start.root.snapshot(start.head.snapshot.id + 1), what),
    ]
    return steps, refusals


def _summary(table: TablePath, found: Survey) -> str:
    name, head = found.branch.root.label, found.branch.snapshot.id
    if found.kind == "fast-forward":
        count = head - found.base.id
        return f"Move main of {table.full_name} on along branch {name}: {count} snapshots, up to {head}"
    return (
        f"Merge what branch {name} of {table.full_name} changed since its snapshot {found.base.id} "
        f"into main, at snapshot {found.start.head.snapshot.id}"
    )


def _warnings(found: Survey, choice: str) -> list[str]:
    warnings = []
    if found.new_schemas:
        warnings.append(f"main follows the branch to schema {found.new_schemas[-1][0]}")
    if found.kind == "keyed":
        warnings.append("Streaming readers skip OVERWRITE commits by default: they will not see the merge")
        if choice == "fail":
            warnings.append(
                "Keys that both sides changed are looked for first: if there are any, nothing is written"
            )
    return warnings


def _outcome(
    context: Context,
    plan: Plan,
    found: Survey,
    made: Snapshot,
    safety: int,
    started: int,
    progress: Progress,
) -> Outcome:
    name, before = found.branch.root.label, found.start.head.snapshot
    changed = not is_same_commit(made, before)
    message = f"Branch {name} is merged into main of {plan.table}"
    if found.kind == "fast-forward" and made.id < found.branch.snapshot.id:
        message += f" up to snapshot {made.id}: then somebody committed to main, so merge again"
    elif not changed:
        message += ": main had every row of it, or keeps its own"
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=message,
        result={
            "branch_name": name,
            "kind": found.kind,
            "snapshot_id": made.id if changed else None,
            "savepoint_id": safety,
        },
        undo=plan.undo if changed else "",
    )
    after = f"snapshot {made.id}"
    audit.record(context, plan, outcome, started, progress, before=f"snapshot {before.id}", after=after)
    return outcome
