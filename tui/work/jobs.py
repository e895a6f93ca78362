"""The jobs of the console: the changes, statements and exports that run or have ended lately."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import msgspec

_KEPT = 50
# The answer to a request to cancel a change that can't be cancelled any more.
NO_RETURN = "It is past its point of no return, and goes to its end"


class Job(msgspec.Struct, eq=False):
    """One piece of work. `how_far` returns a sentence about its progress, or what it waits for.

    `stop` asks it to end, and returns whether it still can; `show` opens its dialog or tab, and `is_watched`
    returns whether a person has that open. `end` is the result: a sentence, and its ink.
    """

    title: str
    how_far: Callable[[], str]
    stop: Callable[[], bool]
    show: Callable[[], object]
    is_watched: Callable[[], bool]
    began: float = msgspec.field(default_factory=time.monotonic)
    end: tuple[str, str] | None = None
    seconds: float = 0.0

    @property
    def elapsed(self) -> float:
        """In seconds: the time since it began; after its end, the time that it took."""
        return time.monotonic() - self.began if self.end is None else self.seconds


class Jobs:
    """`on_unwatched_end` gets, on the screen's thread, each job that ended while nobody watched it."""

    def __init__(self) -> None:
        self.on_unwatched_end: Callable[[Job], None] = lambda job: None
        self.running: list[Job] = []
        # The newest first.
        self.ended: deque[Job] = deque(maxlen=_KEPT)

    def begin(self, job: Job) -> Job:
        self.running.append(job)
        return job

    def end(self, job: Job, text: str, ink: str) -> None:
        """Record the end of a job. Idempotent."""
        if job not in self.running:
            return
        is_watched = job.is_watched()
        job.seconds, job.end = job.elapsed, (text, ink)
        self.running.remove(job)
        self.ended.appendleft(job)
        if not is_watched:
            self.on_unwatched_end(job)

    @property
    def in_background(self) -> int:
        """The number of running jobs that nobody watches."""
        return sum(not job.is_watched() for job in self.running)
