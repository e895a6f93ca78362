"""Take back what a failed change began, but only when none of its requests can come late any more.

Until then the change stays under its lock or claim, and `recover` waits: `paimark.core.storage.late_requests`
says how long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from paimark.core.actions.change.journal import MOVES, NOT_COMMITTED, Hold, JournaledChange, table_gone
from paimark.core.actions.checks import not_undone
from paimark.core.actions.context import Context, Counting, Progress, Remark
from paimark.core.cancelling import to_the_end
from paimark.core.errors import Cancelled, PaimarkError, hint_before
from paimark.core.figures import clock_time, duration
from paimark.core.storage.files import Unanswered
from paimark.core.storage.known_options import RECOVER_WAIT_OPTION
from paimark.core.table.layout import TablePath

_OVER = "no request of it can come any more"

# Claims by id and token.
Claims = Collection[tuple[int, str]]


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


@contextmanager
def undone_on_failure(
    context: Context,
    table: TablePath,
    undo: Callable[[BaseException], None],
    leaves: Callable[[BaseException], PaimarkError | None] = lambda error: None,
    left: Callable[[str, BaseException | None], PaimarkError] | None = None,
) -> Iterator[None]:
    """Undo a half-made operation after any error. Nothing is undone while one of its requests may come late,
    or if its table is gone: then the error says what is left, as when the undo fails.

    `leaves` returns the error to raise instead if nothing may be undone for another reason. `left` makes the
    error, by the reason and what failed, of an operation that `recover` does not know.
    """
    try:
        yield
    # Errors of every class: a progress callback may fail too, and half-made files must not stay.
    except (Exception, KeyboardInterrupt) as error:
        why = str(error) or "Interrupted"
        if context.late.may_follow(error):
            raise (left_as_it_is(table, error) if left is None else left(why, error)) from error
        if (gone := table_gone(context, table)) is not None:
            raise (gone if left is None else left(gone.message.partition(":")[0], None)) from error
        if (instead := leaves(error)) is not None:
            raise instead from error
        try:
            with to_the_end():
                undo(error)
        except PaimarkError as failed:
            if left is None:
                raise not_undone(table, why, failed) from error
            both = why if failed.message == why else f"{why}, and {failed.message}"
            raise left(both, failed) from error
        raise


def describe_wait(
    context: Context, table: TablePath, interrupted: JournaledChange | None, claims: Claims
) -> list[str]:
    """For the plan of a recovery: until when it waits, and what a person may do; empty without a wait.

    The times are by this machine's clock, which may differ from the store's.
    """
    signs = _signs_of_claims(table, claims)
    if interrupted is not None and interrupted.steps:
        signs += _signs_of_change(table, interrupted)
    now = context.clock()
    left = context.late.left_ms(context.files, signs, now) if signs else 0
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
    if not hold.context.late.may_come:
        return
    now = table.journal_step(hold.journal.token, last)
    _wait(hold, now, _signs_of_change(table, hold.journaled), hold.journal.action, progress)
    hold.note(_OVER)


def wait_for_claims(hold: Hold, claims: Claims, progress: Progress) -> None:
    """Before claims are recovered, under a lock that was just taken: wait in the same way."""
    if not hold.context.late.may_come:
        return
    if claims:
        which = f"savepoint {', '.join(str(number) for number, _ in claims)}"
        _wait(hold, hold.table.journal, _signs_of_claims(hold.table, claims), which, progress)
    hold.note(_OVER)


def note_before_release(hold: Hold) -> None:
    """Note for a recovery that a request to end this change may still arrive: it would end the next change.

    If another step is noted already, no note is needed.
    """
    if hold.context.late.may_come and not hold.steps:
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
    context = hold.context

    def tell(left: int) -> None:
        until = clock_time(context.clock() + left).rpartition(" ")[2]
        progress(Counting(f"waits until {until}, {duration(left)} more: requests of {what} may come late"))

    try:
        context.late.wait(context.files, now, signs, tell)
    except (KeyboardInterrupt, Cancelled):
        progress(Remark(f"nothing was changed: `paimark recover {hold.table.word}` waits for the rest later"))
        raise
