"""Requests that a store carries out after their client gave up or died.

An object store may carry out a write whose answer was lost: then a commit lands although the change was taken
back, or a deleted file reappears. Paimark can't prevent that, but the store accepts no request older than
`Context.late_for`. So an interrupted change on such a store stays untouched for that time, under its lock or
claim. The store's own clock measures it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from paimark.core.actions.change.journal import MOVES, NOT_COMMITTED, Hold, JournaledChange, table_gone
from paimark.core.actions.context import Context, Counting, Progress, Remark
from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Cancelled, PaimarkError, hint_before
from paimark.core.figures import clock_time, duration
from paimark.core.storage.files import Unanswered, written_at
from paimark.core.storage.known_options import RECOVER_WAIT_OPTION
from paimark.core.table.layout import TablePath

_LOOK_EVERY = 1.0
_OVER = "no request of it can come any more"

# Claims by id and token.
Claims = Collection[tuple[int, str]]


def may_come_late(context: Context, error: BaseException) -> bool:
    """Whether the store may still carry out the request that failed."""
    return context.late_for > 0 and isinstance(error, Unanswered)


def left_as_it_is(table: TablePath, error: BaseException) -> Unanswered:
    """The error when nothing is taken back, because one of its requests may still arrive."""
    why = error.message if isinstance(error, PaimarkError) else str(error)
    then = (
        f"When the store answers again, run `paimark recover {table.word}`: it waits until nothing can come."
    )
    return Unanswered(
        f"{why}. What was begun is half done, and the store may still carry out the rest",
        hint_before(error, then),
    )


def left_if_late(context: Context, table: TablePath) -> Callable[[BaseException], PaimarkError | None]:
    """For `undone_on_failure`, when a claim records what was begun: it may also be out of reach by now."""
    return lambda error: (
        left_as_it_is(table, error) if may_come_late(context, error) else table_gone(context, table)
    )


def describe_wait(
    context: Context, table: TablePath, interrupted: JournaledChange | None, claims: Claims
) -> list[str]:
    """For the plan of a recovery: until when it waits, and what a person may do; empty without a wait.

    The times are by this machine's clock, which may differ from the store's.
    """
    signs = _signs_of_claims(table, claims)
    if interrupted is not None and interrupted.steps:
        signs += _signs_of_change(table, interrupted)
    if not signs or context.late_for <= 0:
        return []
    last = max(written_at(context.files, signs).values(), default=0)
    now, most = context.clock(), _most_ms(context)
    left = min(most, most - (now - last)) if last else most
    if left <= 0:
        return []
    left = max(left // 1000, 1) * 1000
    return [
        "The store may still carry out what was sent before it died: recover waits until about "
        f"{clock_time(now + left)} ({duration(left)}), and then goes on by itself",
        f"You may leave: the table stays as it is, locked for changes{_open(interrupted)}; "
        f"`paimark recover {table.word}` later waits for the rest only",
        "If you know that no request of it is on its way, you need not wait: "
        f"`paimark recover {table.word} --option '{RECOVER_WAIT_OPTION}=0 s'`",
    ]


def _open(interrupted: JournaledChange | None) -> str:
    """A table that is just being moved may have no schema at either place."""
    is_moving = interrupted is not None and interrupted.journal.change in MOVES
    return "" if is_moving else ", and can be read and written"


def wait_for_change(hold: Hold, progress: Progress) -> None:
    """Before an interrupted change is recovered: wait until none of its process's requests can arrive."""
    table, last = hold.table, len(hold.journaled.entries)
    if hold.context.late_for <= 0:
        return
    now = table.journal_step(hold.journal.token, last)
    _wait(hold, now, _signs_of_change(table, hold.journaled), hold.journal.action, progress)
    hold.note(_OVER)


def wait_for_claims(hold: Hold, claims: Claims, progress: Progress) -> None:
    """Before claims are recovered, under a lock that was just taken: wait in the same way."""
    if hold.context.late_for <= 0:
        return
    if claims:
        which = f"savepoint {', '.join(str(number) for number, _ in claims)}"
        _wait(hold, hold.table.journal, _signs_of_claims(hold.table, claims), which, progress)
    hold.note(_OVER)


def note_before_release(hold: Hold) -> None:
    """Note for a recovery that a request to end this change may still arrive: it would end the next change.

    If another step is noted already, no note is needed.
    """
    if hold.context.late_for > 0 and not hold.steps:
        hold.note(NOT_COMMITTED)


def _signs_of_change(table: TablePath, journaled: JournaledChange) -> list[str]:
    """The files last written by the processes that acted under a journal. A process that took it over and
    noted no step wrote nothing else, however long it waited.
    """
    token = journaled.journal.token
    steps = [number for number, each in enumerate(journaled.entries, 1) if each.step]
    acted = dict.fromkeys([token, *(each.token for each in journaled.entries if each.step)])
    beats = [table.heartbeat(each) for each in acted]
    return [table.journal, *(table.journal_step(token, number) for number in steps), *beats]


def _signs_of_claims(table: TablePath, claims: Claims) -> list[str]:
    beats = [table.heartbeat(token) for _, token in claims]
    return [*(table.savepoint_claim(number) for number, _ in claims), *beats]


def _wait(hold: Hold, now: str, signs: Collection[str], what: str, progress: Progress) -> None:
    """Wait until a file that is written now is late enough after the last of the `signs`."""
    context, most = hold.context, _most_ms(hold.context)
    written = written_at(context.files, [now, *signs])
    last = max((written.get(path, 0) for path in signs if path != now), default=0)
    passed = written.get(now, 0) - last if last else 0
    until = time.monotonic() + min(most, most - passed) / 1000
    try:
        while (left := until - time.monotonic()) > 0:
            check_cancelled()
            more = 1000 * max(round(left), 1)
            progress(
                Counting(
                    f"waits until {clock_time(context.clock() + more).rpartition(' ')[2]}, "
                    f"{duration(more)} more: requests of {what} may come late"
                )
            )
            time.sleep(min(left, _LOOK_EVERY))
    except (KeyboardInterrupt, Cancelled):
        progress(Remark(f"nothing was changed: `paimark recover {hold.table.word}` waits for the rest later"))
        raise


def _most_ms(context: Context) -> int:
    return round(context.late_for * 1000)
