"""The client of the engine, for the console and the command. Imports neither pyspark nor pyarrow.

One statement runs at a time: `run` is for one thread, any thread may call `cancel` and `close`. If the engine
died, or was ended because it was idle, the next statement starts it again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from paimark.core.config import Settings
from paimark.core.durations import parse_duration
from paimark.core.errors import Unavailable, UsageError
from paimark.core.processes import ending, was_killed
from paimark.core.spark.client.child import EngineProcess
from paimark.core.spark.launch.session_settings import (
    DEFAULTS,
    IDLE_TIMEOUT,
    changes_views,
    less_memory,
    resets_all,
    sets_session,
)
from paimark.core.spark.protocol import (
    CANCELLED,
    Cancel,
    Cause,
    Event,
    Failed,
    Finished,
    Run,
    Start,
    Task,
)
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.views import Views, views_after

EngineState = Literal["stopped", "starting", "ready", "running", "resting", "failed"]

# If a cancelled statement has not ended after this time, its engine is killed.
GRACE_SECONDS = 5.0
# How soon a statement that waits for the end of a cancelled one notices that it was cancelled, too.
_LOOK_AGAIN_SECONDS = 0.2


class _Sent(NamedTuple):
    """A task that was sent. `answer` is the process's `answers` at the task's end."""

    process: EngineProcess
    number: int
    answer: int


class Engine:
    """A Spark in a child process. Starts nothing before `start` or the first `run`."""

    def __init__(
        self, settings: Settings, log_path: Path, say: Callable[[str], object] = lambda line: None
    ) -> None:
        """`log_path` gets the whole output of Spark; `say` hears once where else that goes if it can't."""
        self.settings = settings
        self.log_path = self._wanted_log = log_path
        self._say, self._noted = say, ""
        self._lock = threading.Lock()
        self._busy = threading.Lock()
        self._process: EngineProcess | None = None
        self._closing: EngineProcess | None = None
        self._number = 0
        # The thread that asked for the running statement.
        self._caller = 0
        self._cancelled = False
        # The threads that wait for the end of a statement that was cancelled.
        self._waiting: set[int] = set()
        self._killed = False
        self._may_kill = True
        self._sent: _Sent | None = None
        self._resting = False
        # The database that the last USE has chosen, behind the one that its caller gave.
        self._used: tuple[str | None, str] | None = None
        # Statements that changed the session; a new engine repeats them.
        self._session: list[str] = []
        # Its temporary views, which a new engine does not have.
        self._views: Views = {}
        self._idle = Idle(idle_seconds(settings.spark_conf), self._rest)

    @property
    def state(self) -> EngineState:
        """`resting`: the engine was ended because it was idle; the next statement starts it again."""
        process = self._process
        if process is None:
            return "resting" if self._resting else "stopped"
        if process.ended:
            return "failed"
        if process.ready is None:
            return "starting"
        return "running" if self._busy.locked() else "ready"

    @property
    def views(self) -> Views:
        """The temporary views that statements of this client have made in the engine that runs."""
        return self._views if self.state in ("ready", "running") else {}

    @property
    def begins_anew(self) -> bool:
        """Whether the next statement has to wait for a start, and no statement has changed the session."""
        return self.state in ("stopped", "resting", "starting") and not self._session

    def start(self) -> None:
        """Start the engine unless it runs. Returns at once; `state` and `wait_ready` give the result."""
        self._started()

    def wait_ready(self, timeout: float | None = None) -> float:
        """Start the engine unless it runs, wait until it is ready, and return the duration of its start (s).

        Raises `Unavailable` if it can't start, or doesn't within `timeout` seconds.
        """
        process = self._started()
        if not process.wait(lambda: process.ready is not None or process.ended, timeout):
            raise Unavailable(f"Spark did not start in {timeout:.0f} seconds", self._log_hint())
        if process.ready is None:
            failed = self._died(process)
            raise Unavailable(failed.message, failed.hint)
        return process.ready.seconds

    @property
    def nodes(self) -> tuple[str, ...]:
        """Python and packages of each machine of a cluster; empty before `wait_ready` and on one machine."""
        process = self._process
        return process.ready.nodes if process is not None and process.ready is not None else ()

    def run(
        self, sql: str, *, database: str | None = None, limit: int | None = None, differing: bool = False
    ) -> Generator[Event]:
        """Run one statement, and yield its events. The last one is the only `Finished` or `Failed`.

        `limit` is the most rows wanted, None for all; `differing` is as in `Run`. Closing the iterator early
        cancels the statement.
        """
        run = Run(0, sql, self.current_database(database), limit, differing=differing)
        with closing(self.do(run)) as events:
            for event in events:
                if isinstance(event, Finished):
                    self._note_views(sql)
                    if event.database is not None:
                        self._used = (database, event.database)
                yield event

    def current_database(self, given: str | None) -> str | None:
        """The database that a USE has chosen since the caller began to give this one; otherwise `given`."""
        if self._used is not None and self._used[0] != given:
            self._used = None
        return given if self._used is None else self._used[1]

    def do(self, task: Task) -> Generator[Event]:
        """As `run`, for any task. Replaces its number."""
        if failed := self._take_turn():
            yield failed
            return
        end: Event | None = None
        try:
            with closing(self._do(task)) as events:
                for event in events:
                    end = event if isinstance(event, Finished | Failed) else None
                    if end is None:
                        yield event
        finally:
            self._busy.release()
            self._idle.used()
        # Yield the end only now: then the caller can run the next statement before it exhausts the iterator.
        if end is not None:
            yield end

    def _take_turn(self) -> Failed | None:
        """Take `_busy`; return why not, if a statement runs. One that was cancelled is waited for."""
        caller = threading.get_ident()
        self._waiting.add(caller)
        try:
            while not self._busy.acquire(timeout=_LOOK_AGAIN_SECONDS if self._cancelled else 0):
                if caller not in self._waiting:
                    return CANCELLED
                if not self._cancelled:
                    return Failed("Another statement is still running", "Cancel it, or wait for its end.")
            with self._lock:
                if caller not in self._waiting:
                    self._busy.release()
                    return CANCELLED
                # From here on, `cancel` finds the statement running.
                self._cancelled = self._killed = False
                self._caller = caller
            return None
        finally:
            self._waiting.discard(caller)

    @contextmanager
    def paused(self, seconds: float) -> Iterator[None]:
        """Within the context the engine leaves the CPU to others, unless it runs a statement or gets one.

        It does so for at most so many seconds.
        """
        with self._lock:
            # A statement that begins after this check sends its order after the pause began, which ends it.
            process = None if self._busy.locked() else self._process
            if process is not None:
                process.pause(seconds)
        try:
            yield
        finally:
            if process is not None:
                process.go_on()

    def cancel(self, *, may_kill: bool = True, of: int | None = None) -> None:
        """Stop the running statement, if there is one: its events end with `Failed`.

        If that takes long, the engine is killed, unless `may_kill` is False: then the caller may call `kill`.
        `of` is a thread's ident: the statement is only stopped if that thread runs it, or waits to run it.
        """
        with self._lock:
            if of is not None:
                self._waiting.discard(of)
            if not self._runs(of) or self._cancelled:
                return
            self._cancelled, self._may_kill = True, may_kill
            sent = self._sent
        if sent is not None:
            self._stop(sent)

    def kill(self, *, of: int | None = None) -> None:
        """Kill the engine with its running statement, temporary views and caches. `of` is as in `cancel`."""
        with self._lock:
            process = self._process
            if process is None or not self._runs(of):
                return
            self._killed = True
        process.kill()

    def _runs(self, of: int | None) -> bool:
        return self._busy.locked() and of in (None, self._caller)

    def close(self) -> None:
        """End the engine and everything it started. Returns when all of that has ended."""
        self._idle.stop()
        with self._lock:
            process, self._process = self._process, None
            self._closing = process
        if process is not None:
            process.close()

    def close_at_once(self) -> None:
        """As `close`, by force. Another thread that waits in `close` returns sooner."""
        process = self._closing or self._process
        if process is not None:
            process.kill()

    def _rest(self) -> None:
        with self._lock:
            process = self._process
            if process is None or self._busy.locked():
                return
            # A statement that comes now starts another engine.
            self._process, self._resting = None, True
        process.close()

    def _do(self, task: Task) -> Generator[Event]:
        began = time.monotonic()
        self._number += 1
        process = self._started()
        sent = _Sent(process, self._number, process.begin())
        process.order(replace(task, number=sent.number))
        with self._lock:
            self._sent = sent
            is_cancelled = self._cancelled
        if is_cancelled:
            # It was cancelled before it was sent, when there was nothing to stop yet.
            self._stop(sent)
        ended = False
        try:
            while not ended:
                event = process.next_event()
                if event is None:
                    event = self._died(process)
                ended = isinstance(event, Finished | Failed)
                if isinstance(event, Finished):
                    self._note_session(task)
                    event = replace(event, seconds=time.monotonic() - began)
                yield event
        finally:
            if not ended:
                self.cancel()
                # The caller is gone, so it can't decide whether to kill the engine: kill it if it is stuck.
                threading.Thread(target=self._kill_if_stuck, args=(sent,), daemon=True).start()
                while (event := process.next_event()) is not None:
                    if isinstance(event, Finished | Failed):
                        break
            with self._lock:
                self._sent = None

    def _note_session(self, task: Task) -> None:
        if not isinstance(task, Run) or not sets_session(task.sql):
            return
        if resets_all(task.sql):
            self._session.clear()
        elif task.sql not in self._session[-1:]:
            self._session.append(task.sql)

    def _note_views(self, sql: str) -> None:
        if changes_views(sql):
            self._views = views_after(self._views, read_statement(sql))

    def _started(self) -> EngineProcess:
        with self._lock:
            if self._process is None or self._process.ended:
                settings = self.settings
                process = EngineProcess(self._wanted_log)
                self.log_path = process.log_path
                if process.log_note not in ("", self._noted):
                    self._noted = process.log_note
                    self._say(process.log_note)
                process.order(
                    Start(
                        warehouse=settings.warehouse,
                        options=settings.options,
                        master=settings.spark_master,
                        conf=settings.spark_conf,
                        scratch=str(process.scratch),
                        read_only=settings.read_only,
                        session=tuple(self._session),
                    )
                )
                self._process, self._resting, self._views = process, False, {}
                self._idle.used()
            return self._process

    def _stop(self, sent: _Sent) -> None:
        sent.process.drop_rows()
        sent.process.order(Cancel(sent.number))
        if self._may_kill:
            threading.Thread(target=self._kill_if_stuck, args=(sent,), daemon=True).start()

    def _kill_if_stuck(self, sent: _Sent) -> None:
        process = sent.process
        if not process.wait(lambda: process.answers >= sent.answer or process.ended, GRACE_SECONDS):
            self._killed = True
            process.kill()

    def _died(self, process: EngineProcess) -> Failed:
        """The error for a process that ended instead of answering."""
        if self._killed:
            return Failed(
                "The statement did not stop when it was cancelled, so the Spark engine was killed",
                "The next statement starts a new one.",
                cause="cancelled",
                was_killed=True,
            )
        if self._process is not process:
            return Failed("The Spark engine was closed", cause="cancelled", was_killed=True)
        words, cause = process.last_words, _cause(process)
        if words is not None:
            hint = f"{self._log_hint()} {words.hint}" if words.was_killed else words.hint or self._log_hint()
            return Failed(words.message, hint, cause=cause)
        code = process.exit_code()
        hint = f"{self._log_hint()} {less_memory()}" if was_killed(code) else self._log_hint()
        return Failed(f"The Spark engine died: it {ending(code)}", hint, cause=cause)

    def _log_hint(self) -> str:
        return f"The next statement starts a new one; what it said is in {self.log_path}."


def _cause(process: EngineProcess) -> Cause:
    """The cause of the failure if a process ended without an answer."""
    return "start" if process.ready is None else "engine"


_NEVER = "0"


def idle_seconds(conf: Mapping[str, str]) -> float | None:
    """The idle time in the Spark settings, in seconds; None for never. Raises `UsageError`."""
    text = conf.get(IDLE_TIMEOUT, DEFAULTS[IDLE_TIMEOUT]).strip()
    if text == _NEVER:
        return None
    try:
        return parse_duration(text) / 1000 or None
    except UsageError as error:
        raise UsageError(
            f"{IDLE_TIMEOUT} is {text!r}, which is not a length of time", "Write 30 min, or 0."
        ) from error


class Idle:
    """Calls `act`, in another thread, when `used` has not been called for `seconds`; None: never."""

    def __init__(self, seconds: float | None, act: Callable[[], None]) -> None:
        self._seconds = seconds
        self._act = act
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def used(self) -> None:
        """Restart the timer."""
        with self._lock:
            self._cancel()
            # When Python ends, it closes the generator of an unfinished statement. A thread that is started
            # then never runs, and the process waits for it for ever.
            if self._seconds is not None and not sys.is_finalizing():
                self._timer = threading.Timer(self._seconds, self._act)
                self._timer.name, self._timer.daemon = "engine idle", True
                self._timer.start()

    def stop(self) -> None:
        """Stop the timer until the next use."""
        with self._lock:
            self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
