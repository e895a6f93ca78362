"""One JSON line for each finished change: when, what, on what, before and after, who, how long."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import msgspec

from paimark.core.actions.context import NO_AUDIT, Context, Progress, Remark
from paimark.core.actions.plan import Done, Outcome, Plan
from paimark.core.redaction import redacted
from paimark.core.regular_files import open_regular


def finished(
    context: Context, plan: Plan, done: Done, started: int, progress: Progress, *, undo: str | None = None
) -> Outcome:
    """The outcome of a plan that is applied, with its line in the log; `undo` replaces the plan's."""
    undo = plan.undo if undo is None else undo
    outcome = Outcome(
        action=plan.action,
        table=plan.table,
        message=done.message,
        result=done.result,
        items=done.items,
        undo=undo,
        until=plan.until if undo and not plan.undoes else "",
        falls_short=done.falls_short,
    )
    record(context, plan, outcome, started, progress, before=done.before, after=done.after)
    return outcome


def record(
    context: Context,
    plan: Plan,
    outcome: Outcome,
    started: int,
    progress: Progress,
    *,
    before: str,
    after: str,
) -> None:
    """Append the line of a change that began at `started` (epoch ms).

    If the log can't be written, that is reported; it never fails the change, which is done.
    """
    if context.audit_path == NO_AUDIT:
        return
    now = context.clock()
    line = {
        "when": datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds"),
        "action": plan.action,
        "warehouse": context.files.uri,
        "table": plan.table,
        "arguments": plan.arguments,
        "before": before,
        "after": after,
        "result": outcome.result,
        "user": context.user,
        "author": plan.note.author,
        "message": plan.note.message,
        "host": context.host,
        "pid": os.getpid(),
        "milliseconds": now - started,
    }
    try:
        context.audit_path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_regular(context.audit_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            # One call, so that lines of several processes never mix.
            os.write(descriptor, msgspec.json.encode(_without_secrets(line)) + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        progress(
            Remark(f"The audit line could not be written to {context.audit_path}: {error.strerror or error}")
        )


def _without_secrets(value: object) -> object:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: _without_secrets(below) for name, below in value.items()}
    return value
