"""Whether the one commit of a statement was made, if its engine does not say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan_wording import outrun
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.spark.protocol import Failed
from paimark.core.storage.files import Files, Unanswered
from paimark.core.table.commits import Fate, Landed, find_commit, overwritten
from paimark.core.table.layout import Root
from paimark.core.table.records import Snapshot

# What Spark says of a file that it can't read.
_READ = "while reading file"


def require_commit(files: Files, root: Root, commit_user: str, snapshot_id: int) -> None:
    """Read the commit again before reporting success. Raises `Overwritten`."""
    [data] = files.read_many([root.snapshot(snapshot_id)])
    if data is not None and Snapshot.from_json(data, root.snapshot(snapshot_id)).commit_user != commit_user:
        raise overwritten(root, snapshot_id)


@contextmanager
def reporting_interrupts(
    context: Context, root: Root, commit_user: str, newest: int, progress: Progress
) -> Iterator[None]:
    """If the statement within is interrupted, say whether it was committed. It has ended by then."""
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        name, fate = root.table.full_name, find_commit(context.files, root, commit_user, newest)
        if fate.snapshot is not None:
            end = f"it was committed nevertheless, as snapshot {fate.snapshot.id} of {name}"
        elif fate.landed is Landed.NO and not context.late.may_come:
            end = f"nothing was committed to {name}"
        else:
            end = f"look at the rows of {name} before you run it again: they may have been committed"
        progress(Remark(f"interrupted: {end}"))
        raise


def may_still_commit(event: Failed, context: Context, root: Root) -> Exception | None:
    """The error if the engine ended without an answer and the store may still do its last write; or None."""
    if not (event.cause == "engine" or event.was_killed) or not context.late.may_come:
        return None
    return Unanswered(
        f"{event.message}. The rows are not in {root.table.full_name} now, "
        "but the store may still commit them",
        f"Look at the rows {context.late.longest} from now, before you run it again.",
    )


def said_outrun(event: Failed, files: Files, root: Root, fate: Fate, head: int) -> Failed:
    """As told; of a statement that others came before, or an expiry, with what to do about them.

    `head` is the snapshot whose rows it changes; 0 for none.
    """
    is_failed = event.is_outrun or _READ in event.message
    is_lost = is_failed and (bool(fate.expired) or (head > 0 and not files.exists(root.snapshot(head))))
    if not (is_lost or event.is_outrun):
        return event
    error = outrun(files, root, event.message, snapshots_gone=is_lost)
    return replace(event, message=error.message, hint=error.hint)


def not_committed(event: Failed) -> PaimarkError:
    """The error of a statement that committed nothing; who cancelled it is told so."""
    is_cancelled = event.cause == "cancelled"
    return (replace(event, hint="Nothing was committed.") if is_cancelled else event).error()


def unknown(event: Failed, root: Root, fate: Fate) -> Exception:
    if fate.overwritten:
        return Unavailable(
            f"It is not known whether the rows were committed to {root.table.full_name}: snapshot "
            f"{fate.overwritten[0]} was overwritten by another engine. The engine said: {event.message}",
            "Look at the rows before you run it again.",
        )
    first, last = fate.expired[0], fate.expired[-1]
    expired = (
        f"snapshot {first} has expired" if first == last else f"snapshots {first} to {last} have expired"
    )
    return Unavailable(
        f"It is no longer known whether the rows were committed to {root.table.full_name}: {expired}. "
        f"The engine said: {event.message}",
        "Look at the rows before you run it again.",
    )
