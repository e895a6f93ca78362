"""Runs a change, and recovers one: the lock, its heartbeat and fencing, the log and the audit line.

    begin -> take the lock -> check -> prepare -> COMMIT -> finish -> log -> release
                                  |__ take back __|  |__ only forward __|

`recover` enters at the same places. The journal tells it where; if it does not, `landed` does.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any, cast

import msgspec

from paimark.core.actions import audit
from paimark.core.actions import protection_guard as guard
from paimark.core.actions.change import journal
from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import CHECKED, COMMITTED, NOT_COMMITTED, Hold, TableGone, TakenOver
from paimark.core.actions.change.operations import Operation, append
from paimark.core.actions.change.owner import running
from paimark.core.actions.change.taking_back import (
    left_as_it_is,
    note_before_release,
    wait_for_change,
)
from paimark.core.actions.checks import not_undone, require_allowed
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.plan import Item, Outcome, Plan, Step, raise_first
from paimark.core.actions.temp_files import delete_temporaries, meant_for, read_again_if_moved
from paimark.core.cancelling import pass_no_return, to_the_end
from paimark.core.errors import PaimarkError, Refused, Unavailable
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.commits import Overwritten
from paimark.core.table.layout import TablePath


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Apply a plan. Raises `Refused` when the table differs from the plan; nothing was written then."""
    require_allowed(context, plan)
    kind, table = change_named(plan.kind), parse_table_name(plan.table)
    if plan.empty:
        return Outcome(action=plan.action, table=plan.table, message=plan.summary, result=kind.nothing(plan))
    started, token = context.clock(), journal.new_token()
    with running(context, table, token):
        work = Work(context, table, plan, token, context.user, started, progress)
        change = read_again_if_moved(lambda: kind.begin(work))
        hold = journal.take(context, table, plan, token, plan.kind, msgspec.to_builtins(change.state))
        change.work = replace(work, context=hold.context)
        try:
            _commit(change, hold)
        except TakenOver:
            raise
        except (Exception, KeyboardInterrupt) as error:
            # Errors of every class: a progress callback may fail too, and half-made files must not stay.
            with to_the_end():
                _settle(change, hold, error)
        done, operation = _finish(change, hold)
    # What takes back an undo is a redo, whatever action the undo consisted of. A change may also leave a way
    # back that its plan did not know: it kept what others made meanwhile.
    undo = plan.undo
    if not plan.undoes and undo in ("", table.undo):
        undo = undo or table.undo if operation.has_way_back else ""
    return audit.finished(context, plan, done, started, progress, undo=undo)


def recovery_steps(context: Context, table: TablePath, interrupted: journal.JournaledChange) -> list[Step]:
    """The steps of recovering an interrupted change, for a plan. Reads only."""
    if not interrupted.is_checked:
        return []
    return _resumed(context, interrupted, table, lambda line: None).recovery_steps(interrupted)


def prospect(
    context: Context, table: TablePath, interrupted: journal.JournaledChange
) -> tuple[Landed, Item | None]:
    """Whether an interrupted change was committed, and what finishing it comes to by now. Reads only."""
    if not interrupted.is_checked:
        return Landed.NO, None
    change = _resumed(context, interrupted, table, lambda line: None)
    hold = Hold(context, table, interrupted, "")
    landed = _landed(change, hold)
    return landed, change.prospect(hold) if landed is Landed.YES else None


def recover(hold: Hold, progress: Progress, assumed: Landed = Landed.UNKNOWN) -> Done:
    """Finish an interrupted change if it was committed, else take it back; then end it.

    `assumed` is a person's answer, for the case that no file tells whether it was committed. Without it that
    case raises `Refused` and leaves the journal.
    """
    action = hold.journal.action
    if not hold.journaled.is_checked:
        end_unbegun(hold, progress)
        return _nothing_done(f"{action} had not begun: nothing is to be undone")
    wait_for_change(hold, progress)
    change = _resumed(hold.context, hold.journaled, hold.table, progress)
    _clean(hold)
    change.clean()
    landed = _landed(change, hold)
    if landed is Landed.UNKNOWN:
        landed, change.is_assumed = assumed, True
    if landed is Landed.UNKNOWN:
        raise _unknown(hold, "")
    if landed is Landed.YES:
        if not hold.journaled.is_committed:
            hold.note(COMMITTED)
        done, _ = _finish(change, hold)
        return done
    _take_back(change, hold)
    return _nothing_done(f"{action} was not committed, and is taken back")


def _nothing_done(message: str) -> Done:
    return Done(message, {}, before="", after="")


def end_unbegun(hold: Hold, progress: Progress) -> None:
    """End an interrupted change that changed nothing; its process may have died while releasing the lock."""
    if hold.steps:
        wait_for_change(hold, progress)
    note_before_release(hold)
    hold.release()


def _clean(hold: Hold) -> None:
    """Remove half-written files of a killed process that only the holder of the lock writes."""
    files, table = hold.context.files, hold.table
    names = {path.rpartition("/")[2] for path in (table.main_branch_file, table.merges)}
    delete_temporaries(files, table.branches, names)
    entries = [name for name in files.names(table.operations) if hold.journal.token in name]
    delete_temporaries(files, table.operations, {meant_for(name) or name for name in entries})


def _commit(change: Change[msgspec.Struct], hold: Hold) -> None:
    # Somebody may have protected it since the plan: none can from here on.
    raise_first(guard.refusals(hold.context.files, hold.table, change.work.plan.takes))
    change.check(hold)
    hold.note(CHECKED)
    change.prepare(hold)
    pass_no_return()
    hold.require()
    hold.note(COMMITTED, change.commit(hold))


def _settle(change: Change[msgspec.Struct], hold: Hold, error: BaseException) -> None:
    """After a failure: return when the change was committed nevertheless, else take it back and raise."""
    why = str(error) or "Interrupted"
    try:
        hold.require()
        if hold.journaled.is_checked:
            landed = _landed(change, hold)
            if landed is Landed.YES:
                change.work.progress(Remark(f"{why}: but it was committed"))
                return
            if landed is Landed.UNKNOWN:
                raise _unknown(hold, f"{why}. ")
            if hold.context.late.may_follow(error):
                raise left_as_it_is(hold.table, error) from error
            _take_back(change, hold)
        else:
            note_before_release(hold)
            hold.release()
    except TakenOver:
        # The process that took the change over ends it.
        raise error from None
    except TableGone as gone:
        raise gone from error
    except PaimarkError as failed:
        if failed.__cause__ is error:
            # Nothing was taken back.
            raise
        raise not_undone(hold.table, why, failed) from error
    raise error


def _finish(change: Change[msgspec.Struct], hold: Hold) -> tuple[Done, Operation]:
    pass_no_return()
    ends = False
    try:
        change.finish(hold)
        done = change.done()
        operation = _operation(change, hold, done)
        append(hold.context.files, change.logs_at(hold), operation)
        ends = True
        hold.release()
    except (TakenOver, TableGone):
        raise
    except KeyboardInterrupt:
        change.work.progress(Remark(f"half done: run `paimark recover {hold.table.word}` to go on"))
        raise
    except PaimarkError as error:
        hold.require_table()
        if not ends:
            # Later it may be this process that ended it, and got no answer.
            _require_held(hold, error)
        if isinstance(error, Overwritten):
            _settle(change, hold, error)
        raise Unavailable(
            f"{error.message}. What was begun is half done",
            f"Run `paimark recover {hold.table.word}` to go on. {error.hint}".rstrip(),
        ) from error
    return done, operation


def _require_held(hold: Hold, error: PaimarkError) -> None:
    """Raises `TakenOver` and `TableGone`: then the error is of a change that is no longer this process's."""
    try:
        hold.require()
    except (TakenOver, TableGone) as over:
        raise over from error
    except PaimarkError:
        # The store does not answer: nobody knows.
        return


def _operation(change: Change[msgspec.Struct], hold: Hold, done: Done) -> Operation:
    plan = change.work.plan
    return Operation(
        number=0,
        token=hold.journal.token,
        action=plan.action,
        request=dict(plan.request),
        user=hold.journal.owner.user,
        host=hold.journal.owner.host,
        time=hold.journal.owner.since,
        summary=done.message,
        before=done.before,
        after=done.after,
        edits=change.edits(),
        no_way_back=change.no_way_back() or None,
        undoes=plan.undoes,
        redoes=plan.redoes,
        group=plan.group,
        # Their rows are the table's: the log only counts them.
        checks=tuple(msgspec.structs.replace(each, first=()) for each in change.checks()) or None,
        message=plan.note.message or None,
        author=plan.note.author or None,
    )


def _take_back(change: Change[msgspec.Struct], hold: Hold) -> None:
    if not hold.journaled.is_taken_back:
        hold.note(NOT_COMMITTED)
    change.take_back(hold)
    hold.release()


def _landed(change: Change[msgspec.Struct], hold: Hold) -> Landed:
    if hold.journaled.is_taken_back:
        return Landed.NO
    if hold.journaled.is_committed and not change.is_void(hold):
        return Landed.YES
    return change.landed(hold)


def _resumed(
    context: Context, interrupted: journal.JournaledChange, table: TablePath, progress: Progress
) -> Change[msgspec.Struct]:
    record = interrupted.journal
    work = Work(
        context, table, record.planned(), record.token, record.owner.user, record.owner.since, progress
    )
    return change_named(record.change).resume(work, record.state)


def _unknown(hold: Hold, why: str) -> Refused:
    name = hold.table.full_name
    return Refused(
        f"{why}It is no longer known whether {hold.journal.action} of {name} was committed: "
        "its snapshot has expired, or was overwritten",
        f"Look whether main has its rows, then run `paimark recover {hold.table.word} --assume committed`, "
        "or `--assume not-committed`.",
    )


# The name in a journal, and the module below `paimark.core.actions` with the class.
CHANGES = {name: where for declared in DECLARED.values() for name, where in declared.changes.items()}


def change_named(name: str) -> type[Change[Any]]:
    """The class of a change. Raises `Refused` for a name that this version does not know."""
    if name not in CHANGES:
        raise Refused(
            f"This version can't recover {name}", "Recover it with the version of Paimark that began it."
        )
    module, _, kind = CHANGES[name].partition(":")
    return cast(type[Change[Any]], getattr(importlib.import_module(f"paimark.core.actions.{module}"), kind))
