"""One engine process, from its parent's side: spawn it with a channel, read that in a thread, kill it.

The process leads a session, so ctrl+c in the terminal does not reach it. It also leads a process group, so
that the Java process and all others in it can be killed even after the engine itself has ended.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from paimark.core import working_directory
from paimark.core.spark.client.log_file import make_scratch, open_log, remove_scratch
from paimark.core.spark.protocol import (
    Batch,
    Close,
    Died,
    Event,
    Failed,
    Finished,
    Order,
    Ready,
    Report,
    TaskResult,
    receive_report,
    send,
)

_CLOSE_SECONDS = 5.0
# So many events may wait for the caller; then the engine has to wait.
_WAITING_EVENTS = 8


class EngineProcess:
    """`ready` is set when Spark has started. `answers` counts ended statements. `ended`: it is all gone.

    `log_note` says where the log is, if it is not where it should be.
    """

    def __init__(self, log_path: Path) -> None:
        self._sending = threading.Lock()
        self._ending = threading.Lock()
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._dropping = True
        self.answers = 0
        self.ready: Ready | None = None
        self.ended = False
        self.last_words: Died | None = None
        self.scratch = make_scratch()
        log = open_log(log_path)
        self.log_path, self.log_note = log.path, log.note
        with log.file:
            environment, others = without_other_spark()
            with suppress(OSError):
                for each in others:
                    log.file.write(
                        f"paimark: {each} of PYTHONPATH is another Spark, and left aside\n".encode()
                    )
            self._channel, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "paimark.core.spark.engine.engine", str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log.file,
                    stderr=log.file,
                    env=environment,
                    cwd=None if working_directory.is_there() else self.scratch,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        self._pause = Pause(self._process.pid)
        self._reader = threading.Thread(target=self._read, name="engine reader", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def order(self, message: Order) -> bool:
        """Send an order, for which a paused process goes on; False if the process is gone."""
        self.go_on()
        with self._sending:
            try:
                send(self._channel, message)
            except OSError:
                return False
        return True

    def pause(self, seconds: float) -> None:
        """Stop the process and all that it started, until the next order but for at most so many seconds."""
        with self._ending:
            if self._process.returncode is None:
                self._pause.begin(seconds)

    def go_on(self) -> None:
        with self._ending:
            if self._process.returncode is None:
                self._pause.end()

    def begin(self) -> int:
        """Begin to keep events for `next_event`; return the value of `answers` after the statement's end."""
        with self._changed:
            self._events.clear()
            self._dropping = False
            return self.answers + 1

    def drop_rows(self) -> None:
        """Drop all further events but the statement's end, because nobody takes rows any more."""
        with self._changed:
            self._dropping = True
            self._changed.notify_all()

    def next_event(self) -> Event | None:
        """Wait for the statement's next event; None if the process ended without one."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self.ended)
            if not self._events:
                return None
            self._changed.notify_all()
            return self._events.popleft()

    def wait(self, reached: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `reached` is true, which is checked after each report and at the end of the process."""
        with self._changed:
            return self._changed.wait_for(reached, timeout)

    def exit_code(self) -> int:
        """The exit code of the process; negative for a signal. Waits for its end."""
        return self._process.wait()

    def close(self) -> None:
        """End the process: by an order, and by force if that takes too long. Returns when it is gone."""
        # The reader may wait for somebody who takes rows.
        self.drop_rows()
        if self.order(Close()):
            self.wait(lambda: self.ended, _CLOSE_SECONDS)
        self.kill()
        self._reader.join()

    def kill(self) -> None:
        """Kill the process and everything it started, at once."""
        with self._ending:
            # Until the process is waited for, its number can't belong to another group.
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._pause.end()
                self._process.wait()
        remove_scratch(self.scratch)

    def _read(self) -> None:
        while (report := self._receive()) is not None:
            with self._changed:
                self._take(report)
                self._changed.notify_all()
        # The group may outlive its leader: kill a Java process that is left.
        self.kill()
        with self._changed:
            self.ended = True
            self._changed.notify_all()
        self._channel.close()

    def _receive(self) -> Report | Batch | None:
        try:
            return receive_report(self._channel)
        except OSError:
            return None

    def _take(self, report: Report | Batch) -> None:
        if isinstance(report, Died):
            self.last_words = report
            return
        if isinstance(report, Ready):
            self.ready = report
            if self._dropping:
                return
        if isinstance(report, Batch | TaskResult):
            self._changed.wait_for(lambda: self._dropping or len(self._events) < _WAITING_EVENTS)
        is_end = isinstance(report, Finished | Failed)
        self.answers += is_end
        if is_end or not self._dropping:
            self._events.append(report)


_VERSION = re.compile(r"""^__version__[^=]*=\s*["']([^"']+)["']""", re.MULTILINE)
_PY4J = re.compile(r"py4j-([0-9.]+)-src\.zip$")


# Spark in Python and in Java must be of the same version, and PYTHONPATH precedes installed packages.
def without_other_spark(environment: Mapping[str, str] = os.environ) -> tuple[dict[str, str], list[str]]:
    """The environment, and the parts removed from its PYTHONPATH: those with a Spark of another version."""
    kept = dict(environment)
    parts = kept.get("PYTHONPATH", "").split(os.pathsep)
    others = [part for part in parts if part and _is_other(part)]
    if others:
        kept["PYTHONPATH"] = os.pathsep.join(part for part in parts if part not in others)
    return kept, others


def _is_other(part: str) -> bool:
    if zipped := _PY4J.search(part):
        return _differs("py4j", zipped[1])
    try:
        said = _VERSION.search(Path(part, "pyspark", "version.py").read_text(errors="replace"))
    except OSError:
        return False
    return said is not None and _differs("pyspark", said[1])


def _differs(package: str, other: str) -> bool:
    """Whether the installed version differs. If none is installed, the other one is used."""
    # Imported only if PYTHONPATH has such a part, because it takes time to load.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package) != other
    except PackageNotFoundError:
        return False


# In a session of its own, so that what ends the engine or its parent does not end this.
_GUARD = 'sleep "$1"; kill -s CONT -- "-$2"'


# Spark's start and warm-up keep every core busy for seconds. A lower priority is no help where the kernel
# shares the CPU by sessions, because the engine has a session of its own.
class Pause:
    """Of a process group. The caller makes sure that the group's number is not that of another group."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._guard: subprocess.Popen[bytes] | None = None

    def begin(self, seconds: float) -> None:
        """Stop the group until `end`, for at most so many seconds, also if this process dies meanwhile."""
        self.end()
        command = ["/bin/sh", "-c", _GUARD, "sh", f"{seconds:g}", str(self._group)]
        quiet = subprocess.DEVNULL
        with suppress(OSError):
            # First the one that lets it go on: nothing stays stopped for ever.
            self._guard = subprocess.Popen(
                command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
            os.killpg(self._group, signal.SIGSTOP)

    def end(self) -> None:
        """Let the group go on, if it was stopped."""
        guard, self._guard = self._guard, None
        if guard is not None:
            with suppress(OSError):
                os.killpg(self._group, signal.SIGCONT)
            with suppress(OSError):
                os.killpg(guard.pid, signal.SIGKILL)
            guard.wait()
