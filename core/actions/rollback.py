"""`rollback`: main's rows become those of an earlier version, as one new commit. History stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from core.actions import audit, claims, journal, rollback_truncate, undo_log
from core.actions.checks import (
    fingerprint,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    undone_on_failure,
)
from core.actions.columns import column_refusals
from core.actions.context import Context, Progress
from core.actions.holding import ChosenSnapshot
from core.actions.merge_base import Event, point_of, record
from core.actions.overwriting import (
    Start,
    commit_steps,
    keep_safe,
    landed,
    rewrite,
    rewriting_refusals,
    rows_of,
    start_of,
)
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.errors import FileMissing, NotFound, Refused, UsageError
from core.storage.files import Files
from core.table.catalog import parse_table_name
from core.table.files import size_of
from core.table.layout import Root, TablePath
from core.table.lineage import Lineage
from core.table.names import is_safe_name
from core.table.records import Snapshot
from core.travel.version import Resolved, resolve_time, resolve_version

ACTION = "rollback"
_TIME = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)


@dataclass(frozen=True)
class _Way:
    """From main as it is to the version."""

    start: Start
    version: Resolved

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            self.start.fingerprint, self.version.root.directory, self.version.snapshot.to_json()
        )


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `to`, a version of main (`snapshot.3`, `savepoint.1`, a tag) or a local date and time;
    `truncate`, to let main end there instead of writing its rows anew."""
    files, asked = context.files, required_text(arguments, "to")
    way = _way(files, table, asked)
    start, snapshot = way.start, way.version.snapshot
    head = start.head.snapshot
    truncates = arguments.get("truncate") is True
    what = f"{way.version.name} (snapshot {snapshot.id})"
    if truncates and not _is_same(head, snapshot):
        return rollback_truncate.plan(context, ACTION, start.head, snapshot, asked, way.fingerprint)
    if _is_same(head, snapshot):
        return Plan(
            action=ACTION,
            table=table.full_name,
            summary=f"main of {table.full_name} is at {what} already",
            arguments={"to": asked},
            fingerprint=way.fingerprint,
            refusals=tuple(read_only_refusals(context)),
            empty=True,
        )
    refusals = [*read_only_refusals(context), *rewriting_refusals(start), *_column_refusals(files, way)]
    if held := journal.refusal(context, table):
        refusals.append(held)
    rows = size = 0
    try:
        rows, size = size_of(files, table, snapshot)
    except FileMissing as error:
        refusals.append(Refusal(f"{what} is not whole: {error.message}", "Choose another version."))
    safety = claims.next_id(files, table)
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=f"Give main of {table.full_name} the rows of {what}, instead of those of snapshot {head.id}",
        arguments={"to": asked, "snapshot": snapshot.id, "head": head.id, "root": start.root.branch},
        fingerprint=way.fingerprint,
        steps=(
            Step("create", table.savepoint(safety), f"keeps snapshot {head.id}, as it is now"),
            Step("copy", f"the rows of {what}", f"{rows} rows before key merging, through Spark", size),
            Step("create", start.root.snapshot(head.id + 1), "one OVERWRITE of the whole table"),
        ),
        kept=(f"Every snapshot, tag and savepoint, and the rows of snapshot {head.id} as a savepoint",),
        warnings=tuple(_warnings(way)),
        refusals=tuple(refusals),
        undo=f"paimark undo {table.full_name}",
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Write the rows. Raises `Refused` when main moved since the plan, or moves before the commit."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table = parse_table_name(plan.table)
    if plan.empty:
        return Outcome(action=ACTION, table=plan.table, message=plan.summary, result={"snapshot_id": None})
    if rollback_truncate.is_truncation(plan):
        return rollback_truncate.apply(context, plan, lambda: _seen(context, table, plan), progress)
    with running(token):
        way = _as_planned(context, table, plan)
        hold = journal.take(context, table, plan, token, _leaving(way))
        with undone_on_failure(table, lambda: journal.give_up(context, hold, lambda: _finish(context, hold))):
            way = _as_planned(context, table, plan)
            safety = keep_safe(context, way.start, f"before rollback to {plan.arguments['to']}", progress)
            hold = journal.note(context, hold, f"savepoint {safety} keeps what was")
            rows = rows_of(way.version.root, way.version.snapshot)
            made = rewrite(context, hold, way.start, rows, progress)
            if made is None:
                raise Refused(f"Nothing was committed to {plan.table}", "Look at the engine's log.")
            progress(f"committed snapshot {made.id}")
            _finish(context, hold)
            # Rows take their time: somebody elsewhere may have thought this process dead.
            journal.require_hold(context, hold)
            journal.release(context, hold)
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"main of {plan.table} has the rows of {way.version.name} again, as snapshot {made.id}",
        result={"snapshot_id": made.id, "rolled_back_to": way.version.snapshot.id, "savepoint_id": safety},
        undo=f"paimark undo {table.full_name}",
    )
    before, after = f"snapshot {way.start.head.snapshot.id}", f"snapshot {made.id}"
    audit.record(context, plan, outcome, started, progress, before=before, after=after)
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted rollback does."""
    if rollback_truncate.is_truncation(begun.planned()):
        return rollback_truncate.recovery_steps(context, table, begun)
    return commit_steps(_landed(context.files, table, begun), "the rollback was committed")


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted rollback that was committed; of another nothing is to be undone."""
    if rollback_truncate.is_truncation(hold.journal.planned()):
        rollback_truncate.recover(context, hold, progress)
        return
    undo_log.clean(context, hold.table)
    made = _finish(context, hold)
    if made is None:
        progress("the rollback committed nothing: main is as it was; orphan cleaning takes its files")
    else:
        progress(f"the rollback is snapshot {made.id}")


def _finish(context: Context, hold: journal.Hold) -> Snapshot | None:
    """Once it is committed: what was merged after the version is out of main's rows, and may be again."""
    files, table, arguments = context.files, hold.table, hold.journal.planned().arguments
    made = _landed(files, table, hold.journal)
    if made is not None:
        root, to = _root_of(table, hold.journal), str(arguments["to"])
        before, then = _kept(hold.journal, "head"), point_of(_kept(hold.journal, "version"))
        event = Event(kind="rollback", root=root.branch, main=point_of(made), to=then.id, then=then)
        record(files, table, event)
        undo_log.append(context, table, undo_log.move_of(hold, root, before, made, to=to))
    return made


def _landed(files: Files, table: TablePath, begun: journal.Journal) -> Snapshot | None:
    return landed(files, _kept(begun, "head").id, _root_of(table, begun), begun.token)


def _root_of(table: TablePath, begun: journal.Journal) -> Root:
    branch = begun.planned().arguments["root"]
    return table.root(None if branch is None else str(branch))


def _kept(begun: journal.Journal, name: str) -> Snapshot:
    """Main's newest snapshot as the rollback found it (`head`), and the one it went to (`version`)."""
    return Snapshot.from_json(msgspec.json.encode((begun.leaving or {}).get(name)), "The journal")


def _leaving(way: _Way) -> dict[str, Any]:
    return {"head": way.start.head.snapshot.as_written(), "version": way.version.snapshot.as_written()}


def _way(files: Files, table: TablePath, asked: str) -> _Way:
    start = start_of(files, table)
    return _Way(start, _resolved(files, start.root, asked.strip()))


def _resolved(files: Files, root: Root, asked: str) -> Resolved:
    is_tag = is_safe_name(asked) and Lineage(files, root).has_tag(asked)
    if is_tag or not _TIME.fullmatch(asked):
        return resolve_version(files, root, asked)
    try:
        moment = datetime.fromisoformat(asked)
    except ValueError as error:
        raise UsageError(f"{asked!r} is not a time", "Write it like 2026-05-01 12:00.") from error
    zone = moment.astimezone().tzinfo
    assert zone is not None
    # A time to the second means all of that second's commits up to its beginning.
    return resolve_time(files, root, int(moment.timestamp() * 1000), asked, zone=zone)


def _as_planned(context: Context, table: TablePath, plan: Plan) -> _Way:
    try:
        way = _way(context.files, table, str(plan.arguments["to"]))
    except NotFound as error:
        raise Refused(f"{error.message}, since the plan was made", "Make a new plan.") from error
    require_unmoved(table, plan, way.fingerprint)
    return way


def _seen(context: Context, table: TablePath, plan: Plan) -> tuple[ChosenSnapshot, Snapshot, str]:
    way = _as_planned(context, table, plan)
    return way.start.head, way.version.snapshot, way.fingerprint


def _is_same(left: Snapshot, right: Snapshot) -> bool:
    return (left.id, left.delta_manifest_list) == (right.id, right.delta_manifest_list)


def _warnings(way: _Way) -> list[str]:
    found = ["Streaming readers skip OVERWRITE commits by default: they will not see the rows go back"]
    if way.version.note:
        found.append(way.version.note)
    added = {field.id for field in way.start.schema.fields}
    if way.version.snapshot.schema_id != way.start.schema.id and added:
        found.append(
            f"The rows are written by main's newest schema ({way.start.schema.id}): "
            "columns that came after the version are null"
        )
    return found


def _column_refusals(files: Files, way: _Way) -> list[Refusal]:
    then = Lineage(files, way.version.root).schema(way.version.snapshot.schema_id)
    return column_refusals(then, way.version.name, way.start)
