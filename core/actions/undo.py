"""`undo`: take back the last change of a table that can be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from core.actions import audit, delete_branch, journal, stages, undo_commit, undo_log, undo_truncation
from core.actions import undo_replacement as replacement
from core.actions import undo_retirement as retirement
from core.actions.checks import read_only_refusals, require_allowed, undone_on_failure
from core.actions.context import Context, Progress
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.removal import only_forward
from core.actions.takeover import moved
from core.actions.undo_log import Undoable
from core.errors import Corrupt, Refused
from core.table.catalog import parse_table_name
from core.table.layout import TablePath

ACTION = "undo"


class WayBack(Protocol):
    """How one kind of change is taken back: `go` up to the point of no return, `finish` what follows."""

    @property
    def entry(self) -> Undoable: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def said(self) -> str: ...
    @property
    def summary(self) -> str: ...
    def refusals(self, context: Context) -> list[Refusal]: ...
    def steps(self, context: Context) -> list[Step]: ...
    def kept(self) -> list[str]: ...
    def warnings(self) -> list[str]: ...
    def go(self, context: Context, hold: journal.Hold, progress: Progress) -> journal.Hold: ...
    def finish(self, context: Context, hold: journal.Hold, progress: Progress) -> None: ...
    def take_back(self, context: Context, hold: journal.Hold) -> None: ...


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """The newest change is taken back first. Arguments: `replacement`, for the newest replacement of main
    though main has moved on from merges and rollbacks since.
    """
    replacement_only = arguments.get("replacement") is True
    refusals = read_only_refusals(context)
    if held := journal.refusal(context, table):
        refusals.append(held)
    try:
        way = _find(context, table, replacement_only=replacement_only)
    except Refused as error:
        return Plan(
            action=ACTION,
            table=table.full_name,
            summary=f"Take back the last change of {table.full_name}",
            arguments={},
            fingerprint="",
            refusals=(*refusals, Refusal(error.message, error.hint)),
        )
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=way.summary,
        arguments={"undone": way.entry.action, "seen": way.said, "replacement": replacement_only},
        fingerprint=way.fingerprint,
        steps=tuple(way.steps(context)),
        kept=tuple(way.kept()),
        warnings=tuple(way.warnings()),
        refusals=(*refusals, *way.refusals(context)),
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Take it back. Raises `Refused` when anything moved since the plan, before anything was written."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table = parse_table_name(plan.table)
    with running(token):
        way = _as_planned(context, table, plan)
        hold = journal.take(context, table, plan, token, way.entry.as_written())
        with undone_on_failure(table, lambda: journal.give_up(context, hold)):
            way = _as_planned(context, table, plan)
            for refusal in way.refusals(context):
                raise Refused(refusal.reason, refusal.hint)
            hold = stages.start(context, hold)
        with undone_on_failure(
            table, lambda: journal.give_up(context, hold, lambda: way.take_back(context, hold))
        ):
            hold = way.go(context, hold, progress)
        with only_forward(table):
            way.finish(context, hold, progress)
            journal.release(context, hold)
    entry = way.entry
    outcome = Outcome(
        action=ACTION,
        table=plan.table,
        message=f"Took back {entry.said} of {plan.table}. {way.kept()[0]}",
        result={"undone": entry.action, "branch_name": entry.branch, "previous_main": entry.previous},
    )
    audit.record(
        context,
        plan,
        outcome,
        started,
        progress,
        before=entry.said,
        after=f"{entry.said} taken back",
    )
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted undo does."""
    entry = _entry_in(begun)
    return [Step("replace", entry.said, "taken back, or not, but not half")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted undo, or leave all as it was. The caller ends it."""
    entry = _entry_in(hold.journal)
    undo_log.clean(context, hold.table)
    if not stages.has_started(hold.journal):
        progress("nothing was undone yet")
    elif entry.moved_main:
        (undo_truncation if entry.kept_as else undo_commit).recover(context, hold, entry, progress)
    elif entry.action == delete_branch.ACTION:
        retirement.recover(context, hold, entry, progress)
    else:
        replacement.recover(context, hold, entry, progress)


def _find(context: Context, table: TablePath, *, replacement_only: bool) -> WayBack:
    known = undo_log.entries(context, table)
    if not known:
        raise Refused(
            f"{table.full_name} has no change that can be taken back", "The audit log says what was done."
        )
    entry = _last_replacement(context, table, known) if replacement_only else known[-1]
    if entry.action == delete_branch.ACTION:
        return retirement.find(context.files, table, entry)
    if entry.moved_main:
        return _moved_back(context, table, entry)
    if entry.is_replacement:
        return replacement.find(context.files, table, entry)
    raise Corrupt(
        f"{table.undo_log} holds {entry.action}, which this version can't take back",
        "Take it back with the version of Paimark that did it.",
    )


def _moved_back(context: Context, table: TablePath, entry: Undoable) -> WayBack:
    if entry.kept_as is not None:
        return undo_truncation.find(context.files, table, entry)
    return undo_commit.find(context.files, table, entry)


def _last_replacement(context: Context, table: TablePath, known: Sequence[Undoable]) -> Undoable:
    """Past what can't be taken back any more, and nothing else."""
    for entry in reversed(known):
        if entry.is_replacement:
            return entry
        if not entry.moved_main:
            continue
        try:
            _moved_back(context, table, entry)
        except Refused:
            continue
        raise Refused(f"{entry.said} came later, and can be taken back", "Leave --replacement out.")
    raise Refused(f"{table.full_name} has no replacement of main that can be taken back", "")


def _as_planned(context: Context, table: TablePath, plan: Plan) -> WayBack:
    way = _find(context, table, replacement_only=plan.arguments["replacement"] is True)
    if way.fingerprint != plan.fingerprint:
        raise moved(table, str(plan.arguments["seen"]), way.said)
    return way


def _entry_in(begun: journal.Journal) -> Undoable:
    return Undoable.from_json(msgspec.json.encode(begun.leaving or {}), f"The journal of {begun.table}")
