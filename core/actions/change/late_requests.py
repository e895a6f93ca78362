"""Requests that a store carries out after their client gave them up, or died.

An object store may act on a write of which nobody heard again: a commit then lands on what was taken back,
and a file comes back that was deleted. Nothing can stop it, but it takes no request that is older than
`Context.late_for`. So what is interrupted there is left as it is for so long, under its lock or claim, by
the store's own clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from core.actions.change.journal import Hold
from core.actions.context import Context, Counting, Progress
from core.cancelling import check_cancelled
from core.errors import PaimarkError
from core.figures import duration
from core.storage.files import Unanswered
from core.table.layout import TablePath

_LOOK_EVERY = 5.0
_OVER = "no request of it can come any more"


def may_come_late(context: Context, error: BaseException) -> bool:
    """Whether what failed may still be carried out."""
    return context.late_for > 0 and isinstance(error, Unanswered)


def left_as_it_is(table: TablePath, error: BaseException) -> Unanswered:
    """What is told where nothing is taken back, because a request of it may still come."""
    why = error.message if isinstance(error, PaimarkError) else str(error)
    return Unanswered(
        f"{why}. What was begun is half done, and the store may still carry out the rest",
        f"When the store answers again, run `paimark recover {table.word}`: it waits until nothing can come.",
    )


def left_if_late(context: Context, table: TablePath) -> Callable[[BaseException], PaimarkError | None]:
    """For `undone_on_failure`, where a claim tells of what is left."""
    return lambda error: left_as_it_is(table, error) if may_come_late(context, error) else None


def wait_for_change(hold: Hold, progress: Progress) -> None:
    """Before an interrupted change is recovered, until no request of who held it can come."""
    context, table, entries = hold.context, hold.table, hold.journaled.entries
    if context.late_for <= 0:
        return
    numbered = [
        (table.journal_step(hold.journal.token, number), each) for number, each in enumerate(entries, 1)
    ]
    # Who only took it over wrote nothing else yet.
    signs = [path for path, each in numbered if each.step]
    beats = [table.heartbeat(token) for token in {hold.journal.token, *(each.token for each in entries)}]
    _wait(context, numbered[-1][0], [table.journal, *signs, *beats], progress)
    hold.note(_OVER)


def wait_for_claims(
    context: Context, table: TablePath, claims: Collection[tuple[int, str]], progress: Progress
) -> None:
    """Before claims are recovered, by id and token, under a lock that was just taken."""
    if context.late_for > 0 and claims:
        signs = [table.savepoint_claim(number) for number, _ in claims]
        beats = [table.heartbeat(token) for _, token in claims]
        _wait(context, table.journal, [*signs, *beats], progress)


def _wait(context: Context, now: str, signs: Collection[str], progress: Progress) -> None:
    """Until a file that is written now would be late enough after the last of the `signs`."""
    directories = {path.rpartition("/")[0] for path in (now, *signs)}
    written = {
        f"{directory}/{entry.name}": entry.modified
        for directory in directories
        for entry in context.files.entries(directory)
    }
    last = max((written.get(path, 0) for path in signs if path != now), default=0)
    most = context.late_for
    until = time.monotonic() + min(most, most - (written.get(now, 0) - last) / 1000)
    while (left := until - time.monotonic()) > 0:
        check_cancelled()
        progress(
            Counting(f"waits {duration(1000 * round(left))}: requests of the interrupted one may still come")
        )
        time.sleep(min(left, _LOOK_EVERY))
