"""What is done while no statement is there: in order, within its time, and given up for any statement."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Cancelled
from paimark.core.spark.idle_work import scheduler
from paimark.core.spark.idle_work.scheduler import QUIET_SECONDS, RESTS, SETTLED_SECONDS, IdleWork
from paimark.core.spark.protocol import Prefetch

FIRST, SECOND = Prefetch("SELECT 1"), Prefetch("SELECT 2")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def free() -> bool:
    return True


def test_steps_come_first_each_once_and_a_fault_ends_none_of_the_others() -> None:
    done: list[object] = []
    work = IdleWork(done.append, clock := Clock())
    assert work.due() is None

    def fails() -> None:
        done.append("fails")
        raise ValueError

    work.warm_up(iter([fails, lambda: done.append("second")]), lambda: None)
    work.want(FIRST)
    assert work.due() == pytest.approx(SETTLED_SECONDS)
    clock.now += SETTLED_SECONDS
    assert work.due() == 0
    # Two steps, and one look that there is no other.
    assert [work.work(free) for _ in range(4)] == [None, None, None, FIRST]
    assert done == ["fails", "second", FIRST]
    assert work.due() is None


def test_the_newest_wish_alone_is_done_and_then_it_rests() -> None:
    clock, done = Clock(), list[Prefetch]()

    def prefetch(wanted: Prefetch) -> None:
        done.append(wanted)
        clock.now += 0.5

    work = IdleWork(prefetch, clock)
    work.want(FIRST)
    work.want(SECOND)
    assert work.work(free) == SECOND
    assert done == [SECOND] and work.due() is None
    work.want(FIRST)
    assert work.due() == pytest.approx(0.5 * RESTS)


def test_a_statement_that_is_there_already_comes_first() -> None:
    clock, done = Clock(), list[Prefetch]()
    work = IdleWork(done.append, clock)
    work.want(FIRST)
    assert work.work(lambda: False) is None and not done
    # The wish stands, and is done when no other statement has followed.
    work.quiet()
    assert work.due() == QUIET_SECONDS
    clock.now += QUIET_SECONDS
    assert work.work(free) == FIRST


@pytest.mark.parametrize("end", [IdleWork.interrupt, IdleWork.stop])
def test_a_statement_that_comes_ends_what_is_done(end: Callable[[IdleWork], None]) -> None:
    began, was_cancelled = threading.Event(), threading.Event()

    def prefetch(wanted: Prefetch) -> None:
        began.set()
        while True:
            try:
                check_cancelled()
            except Cancelled:
                was_cancelled.set()
                raise

    work = IdleWork(prefetch)
    work.want(FIRST)
    thread = threading.Thread(target=work.work, args=(free,), daemon=True)
    thread.start()
    assert began.wait(10)
    end(work)
    thread.join(10)
    assert was_cancelled.is_set() and not thread.is_alive()
    work.want(SECOND)
    assert (work.due() is None) == (end is IdleWork.stop)


def test_a_step_is_interrupted_in_its_own_way_and_the_others_follow() -> None:
    interrupted, done = list[int](), list[int]()
    work = IdleWork(lambda wanted: None)
    work.interrupt()
    work.warm_up(iter([work.interrupt, lambda: done.append(2)]), lambda: interrupted.append(1))
    work.work(free)
    assert interrupted == [1]
    work.work(free)
    assert done == [2]


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "MOST_SECONDS", 0.01)
    monkeypatch.setattr(scheduler, "MOST_WARM_UP_SECONDS", 0.01)
    ended, interrupted = list[str](), list[str]()

    def goes_on(what: str) -> None:
        try:
            while True:
                check_cancelled()
        except Cancelled:
            ended.append(what)
            raise

    work = IdleWork(lambda wanted: goes_on(wanted.sql))
    steps = [partial(goes_on, "step"), partial(goes_on, "never done")]
    work.warm_up(iter(steps), lambda: interrupted.append("step"))
    work.want(FIRST)
    # A step, a look that there is no time for the next, and what is wanted.
    assert [work.work(free) for _ in range(3)] == [None, None, FIRST]
    assert ended == ["step", FIRST.sql] and interrupted == ["step"]
