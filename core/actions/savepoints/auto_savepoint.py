"""`auto-savepoint`: make a savepoint when the table option `savepoint.create-interval` says that one is due.

Only the savepoints themselves tell when the last one was made, so restarts, several watchers and clocks that
jump never cause a series. If several watchers act at once, the one with the lowest claim goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

import msgspec

from paimark.core.actions import audit
from paimark.core.actions.change.owner import standing
from paimark.core.actions.checks import newest_options, read_only_refusals, require_allowed, text_argument
from paimark.core.actions.context import Context, Progress, Remark, open_context
from paimark.core.actions.plan import Done, Outcome, Plan
from paimark.core.actions.roots import guard_tags, savepoint_claim
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose_as_planned, keep
from paimark.core.actions.savepoints import create_savepoint
from paimark.core.durations import parse_duration
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.figures import moment
from paimark.core.redaction import redacted
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import Savepoint
from paimark.core.table.savepoints import SavepointManager

ACTION = "auto-savepoint"
OPTION = "savepoint.create-interval"
# How long another machine's claim counts, and the bounds of a watcher's sleep: others may save or commit.
_CLAIM_COUNTS_MS = 10 * 60 * 1000
_LONGEST_SLEEP, _SHORTEST_SLEEP = 60.0, 1.0


@dataclass(frozen=True)
class Schedule:
    """When the next savepoint of a root is due. Times and lengths are milliseconds.

    `interval` is None if the table has no such option. `due_at` is None then, and while a savepoint holds
    the newest snapshot.
    """

    interval: int | None
    last: Savepoint | None
    due_at: int | None

    def is_due(self, now: int) -> bool:
        return self.due_at is not None and self.due_at <= now


class _Beaten(Exception):
    """Another watcher saves this root now, or has just done so."""


def schedule(files: Files, root: Root, now: int) -> Schedule:
    """Compute it from the newest schema, the newest snapshot and the savepoints.

    Raises `UsageError` if the option is not a length of time.
    """
    text = newest_options(files, root).get(OPTION)
    if text is None:
        return Schedule(None, None, None)
    try:
        interval = parse_duration(text)
        if interval <= 0:
            raise UsageError(f"{text!r} is no time at all")
    except UsageError as error:
        raise UsageError(
            f"{OPTION} of {root.table.full_name} makes no savepoints: {error.message}",
            f"Set it anew: paimark alter-branch-schema {root.table.word} --set \"'{OPTION}' = '1 h'\"",
        ) from error
    saved = SavepointManager(files, root.table).of_root(root)
    last = max(saved, key=lambda each: each.id, default=None)
    newest = Lineage(files, root).latest()
    if newest is None or any(each.is_of(newest) for each in saved):
        return Schedule(interval, last, None)
    saved_at = _saved_at(saved, now)
    return Schedule(interval, last, now if saved_at is None else saved_at + interval)


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `branch` (main when None). Empty while nothing is due."""
    branch = text_argument(arguments, "branch")
    root, now = branch_root(context.files, table, branch), context.clock()
    due = schedule(context.files, root, now)
    if due.is_due(now):
        saving = create_savepoint.plan(context, table, {"branch": branch})
        undo = _undo(table, int(saving.arguments["savepoint"] or 0))
        return msgspec.structs.replace(saving, action=ACTION, table=table.full_name, undo=undo)
    return Plan(
        action=ACTION,
        table=table.full_name,
        headline=f"{root.label} of {table.full_name} {_why_not(due)}.",
        arguments={"branch": branch},
        fingerprint="",
        refusals=tuple(read_only_refusals(context)),
        empty=True,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the savepoint, unless none is due or another watcher was faster. Raises as `create-savepoint`."""
    require_allowed(context, plan)
    table = parse_table_name(plan.table)
    guard_tags.repair(context.files, table)
    if plan.empty:
        return _none_made(plan, plan.summary)
    started = context.clock()
    chosen = choose_as_planned(context, table, plan)
    try:
        saved = keep(context, chosen, plan, progress, lambda each: _save(context, each, progress))
    except _Beaten:
        return _none_made(plan, f"Another watcher saves {chosen.root.label} of {plan.table}")
    done = Done(
        message=f"Saved snapshot {saved.saved_snapshot_id} of {plan.table} as savepoint {saved.id}",
        result={"savepoint_id": saved.id, "saved_snapshot_id": saved.saved_snapshot_id},
        before="a savepoint was due",
        after=f"savepoint {saved.id} of snapshot {saved.saved_snapshot_id}",
    )
    return audit.finished(context, plan, done, started, progress, undo=_undo(table, saved.id))


def once(context: Context, table: TablePath, branch: str | None = None) -> Outcome | None:
    """Make the savepoint that is due, for example after a commit; None if none is due."""
    wanted = plan(context, table, {"branch": branch})
    return None if wanted.empty else _made(apply(context, wanted, lambda line: None))


def after_commit(context: Context, table: TablePath, branch: str | None, tell: Progress) -> None:
    """Make the savepoint that a commit made due. A failure is only reported: the commit is done."""
    try:
        made = once(context, table, branch)
    # Errors of every class: a caller that gets one would take the commit for failed, and repeat it.
    except Exception as error:
        tell(Remark(f"The change is done, but no savepoint could be made after it: {redacted(str(error))}"))
    else:
        if made is not None:
            tell(Remark(made.message))


def after_write(uri: str, options: Mapping[str, str], root: Root) -> str | None:
    """Make the savepoint that a write of Spark made due; return a sentence. For workers without a context."""
    made = once(open_context(uri, options, read_only=False), root.table, root.branch)
    return made.message if made else None


def watch(context: Context, tables: Callable[[], Sequence[TablePath]], stop: Event, tell: Progress) -> None:
    """Make savepoints as they fall due until `stop` is set: one line each, and one for each new failure.

    `tables` is called again each time, because tables are created and dropped.
    """
    failures: dict[TablePath | None, str] = {}
    while not stop.is_set():
        for table in _asked(tables, failures, tell):
            if stop.is_set():
                return
            try:
                made = _made(apply(context, plan(context, table, {}), lambda line: None))
            except PaimarkError as error:
                _tell_failure(failures, table, f"{table.full_name}: {error.message}", tell)
            else:
                failures.pop(table, None)
                if made is not None:
                    tell(Remark(made.message))
        stop.wait(_LONGEST_SLEEP if failures else _until_next(context, tables))


def _made(outcome: Outcome) -> Outcome | None:
    return outcome if outcome.result["savepoint_id"] is not None else None


def _asked(
    tables: Callable[[], Sequence[TablePath]], failures: dict[TablePath | None, str], tell: Progress
) -> Sequence[TablePath]:
    try:
        asked = tables()
    except PaimarkError as error:
        _tell_failure(failures, None, error.message, tell)
        return ()
    failures.pop(None, None)
    return asked


def _tell_failure(
    failures: dict[TablePath | None, str], table: TablePath | None, message: str, tell: Progress
) -> None:
    if failures.get(table) != message:
        failures[table] = message
        tell(message)


def _until_next(context: Context, tables: Callable[[], Sequence[TablePath]]) -> float:
    """Seconds to sleep: until the next known due time, within bounds."""
    now, seconds = context.clock(), _LONGEST_SLEEP
    try:
        for table in tables():
            due_at = schedule(context.files, branch_root(context.files, table, None), now).due_at
            if due_at is not None:
                seconds = min(seconds, (due_at - now) / 1000)
    except PaimarkError:
        # The next attempt reports it.
        return _LONGEST_SLEEP
    return max(seconds, _SHORTEST_SLEEP)


def _save(context: Context, chosen: ChosenSnapshot, progress: Progress) -> Savepoint:
    def tagged(claim: savepoint_claim.Claim) -> None:
        if not _is_first(context, chosen.root, claim):
            raise _Beaten
        progress(f"tagged snapshot {chosen.snapshot.id} as {savepoint_tag(claim.id)}")

    logs = create_savepoint.log_finished
    return savepoint_claim.save(context, chosen, None, "interval", progress, tagged, logs)


def _is_first(context: Context, root: Root, mine: savepoint_claim.Claim) -> bool:
    """Whether a savepoint is still due, and no watcher with a lower claim makes it.

    Claims are read first: a watcher writes its savepoint before it removes its claim.
    """
    lower = (number for number in savepoint_claim.claimed_ids(context, root.table) if number < mine.id)
    for claim in [savepoint_claim.read_claim(context, root.table, number) for number in lower]:
        if claim and _watches(claim, root) and _may_live(context, claim):
            return False
    now = context.clock()
    return schedule(context.files, root, now).is_due(now)


def _may_live(context: Context, claim: savepoint_claim.Claim) -> bool:
    """Whether the claim counts. Another machine's counts only for a while: two savepoints do no harm.

    A claim from a time to come was made by a clock that is ahead, or was: it must not count until then.
    """
    state, age = standing(context, claim.owner, claim.token), context.clock() - claim.save_time
    return state == "running" or (state == "unknown" and abs(age) < _CLAIM_COUNTS_MS)


def _watches(claim: savepoint_claim.Claim, root: Root) -> bool:
    return claim.root == root.branch and claim.created_by == "interval"


def _saved_at(saved: Sequence[Savepoint], now: int) -> int | None:
    """When the last one was made. A future time is a clock's error: then its snapshot's time counts.

    None if only future times are known, because they must not delay the next savepoint.
    """
    times = (each.save_time if each.save_time <= now else each.snapshot_time for each in saved)
    return max((each for each in times if each <= now), default=None)


def _undo(table: TablePath, savepoint: int) -> str:
    """An undo passes over it: a person means what was done by hand."""
    return f"paimark delete-savepoint {table.word} --id {savepoint}"


def _why_not(due: Schedule) -> str:
    if due.interval is None:
        return f"has no option {OPTION}"
    if due.due_at is None:
        return "has nothing newer than its last savepoint" if due.last else "has no snapshot to save"
    return f"is due for a savepoint at {moment(due.due_at)}"


def _none_made(plan: Plan, message: str) -> Outcome:
    result = {"savepoint_id": None, "saved_snapshot_id": None}
    return Outcome(action=ACTION, table=plan.table, message=message, result={**result})
