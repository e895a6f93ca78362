"""The console's Spark: started after the first frame, used by one query at a time, ended with the console."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.config import Settings, state_directory
from paimark.core.errors import PaimarkError
from paimark.core.once import once_for_all
from paimark.core.text import whole_number
from paimark.tui.named_keys import run_key

if TYPE_CHECKING:
    from paimark.core.actions.context import Context
    from paimark.core.spark.client.client import Engine
    from paimark.core.spark.protocol import Event
    from paimark.core.travel.parse.statement import Statement
    from paimark.core.travel.statements.views import Views
    from paimark.tui.theme import Line


_KEPT_LOGS = 3
_MOST_PAUSE_SECONDS = 5.0


class EngineRoom:
    """Imports and makes the engine's client when it is first needed. It does not end a given engine."""

    def __init__(self, settings: Settings, engine: Engine | None = None) -> None:
        self._settings = settings
        self._engine, self._is_given = engine, engine is not None
        # Cleared while Spark should leave the CPU to others: its start may wait.
        self._may_start = threading.Event()
        self._may_start.set()
        # The exports of rows that it reads.
        self.exports = UnfinishedFiles()

    @property
    def log_path(self) -> Path:
        own = state_directory() / f"spark-{os.getpid()}.log"
        return own if self._engine is None else self._engine.log_path

    @once_for_all
    def engine(self) -> Engine:
        if self._engine is None:
            from paimark.core.spark.client.client import Engine

            remove_old_logs(state_directory())
            self._engine = Engine(self._settings, self.log_path)
        return self._engine

    @once_for_all
    def context(self) -> Context:
        """The context of actions and statements: it opens the store once. For threads: it may read it."""
        from paimark.core.actions.context import context_of

        return context_of(self._settings, lambda: self.engine)

    @property
    def state(self) -> str:
        """stopped, starting, ready, running, resting or failed."""
        return "stopped" if self._engine is None else self._engine.state

    def warm_up(self, ready: Callable[[float], None], failed: Callable[[PaimarkError], None]) -> None:
        """Start Spark in a thread, which calls `ready` with the seconds that it took, or `failed`."""

        def work() -> None:
            try:
                engine = self.engine
                self._may_start.wait(_MOST_PAUSE_SECONDS)
                ready(engine.wait_ready())
            except PaimarkError as error:
                failed(error)

        threading.Thread(target=work, name="paimark-engine", daemon=True).start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Within the context Spark leaves the CPU to what a person waits for, unless it runs a statement."""
        engine = self._engine
        self._may_start.clear()
        try:
            with nullcontext() if engine is None else engine.paused(_MOST_PAUSE_SECONDS):
                yield
        finally:
            self._may_start.set()

    @property
    def views(self) -> Views:
        return {} if self._engine is None else self._engine.views

    def current_database(self, given: str | None) -> str | None:
        """The database that a USE has chosen, else `given`."""
        return given if self._engine is None else self._engine.current_database(given)

    def run(self, asked: str | Statement, database: str | None, limit: int | None) -> Generator[Event]:
        """Run a statement; yield its events as the engine sends them. For a thread: it blocks."""
        from paimark.core.statements.run import run_statement

        return run_statement(self.context, asked, database=database, limit=limit)

    def cancel(self, of: int | None = None) -> None:
        """Stop the running statement, without force and however long that takes; returns at once.

        `of` is the id of a thread: the statement of another thread is not stopped.
        """
        cancel = partial(self.engine.cancel, may_kill=False, of=of)
        threading.Thread(target=cancel, name="paimark-cancel", daemon=True).start()

    def kill(self, of: int | None = None) -> None:
        """End Spark with the running statement; returns at once. The next statement starts it again.

        `of` is as in `cancel`.
        """
        threading.Thread(target=partial(self.engine.kill, of=of), name="paimark-kill", daemon=True).start()

    def close(self) -> None:
        """End the engine and the processes that it started."""
        if self._engine is not None and not self._is_given:
            self._engine.close()

    def close_at_once(self) -> None:
        """End the engine by force, also while another thread still waits in `close`."""
        if self._engine is not None and not self._is_given:
            self._engine.close_at_once()


def remove_old_logs(directory: Path) -> None:
    """Remove the logs of consoles that have ended, but the newest: somebody may still ask why one failed."""
    from paimark.core.processes import lives

    with suppress(OSError):
        logs = {path: path.stat().st_mtime for path in directory.glob("spark-*.log")}
        ended = [path for path in logs if (pid := whole_number(path.stem[6:])) and not lives(pid, "")]
        for path in sorted(ended, key=logs.__getitem__)[:-_KEPT_LOGS]:
            path.unlink(missing_ok=True)


_LINES: Mapping[str, tuple[str, str, str, str]] = {
    # A sign and its ink, the state of Spark, and the consequence.
    "ready": ("●", "good", "Spark is ready", "{run} runs the statement"),
    "starting": ("○", "warn", "Spark is starting", "{run} runs the statement when it is ready"),
    "running": ("●", "warn", "Spark is busy", "it runs one statement at a time"),
    "failed": ("✗", "bad", "Spark failed", "the next statement starts it again; log: {log}"),
    "resting": (
        *("○", "quiet", "Spark was ended while nobody used it"),
        "the next statement starts it again, without temporary views",
    ),
    "stopped": ("○", "quiet", "Spark is not started", "the first statement starts it"),
}


def engine_line(room: EngineRoom) -> Line:
    sign, ink, state, consequence = _LINES.get(room.state, _LINES["stopped"])
    state_ink = "bad" if ink == "bad" else ""
    return [
        (f"{sign} ", ink),
        (state, state_ink),
        (f"   {consequence.format(log=room.log_path, run=run_key())}", "quiet"),
    ]


# How long the console's end waits for a thread to remove its temporary file, in seconds: a disk may be slow.
_PATIENCE = 5.0
_STEP = 0.02


class UnfinishedFiles:
    """Threads add and remove files; the console's end reads them."""

    def __init__(self) -> None:
        self._paths: list[Path] = []
        self._stopping = Cancellation()

    @property
    def paths(self) -> Sequence[Path]:
        return tuple(self._paths)

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """While it lasts the calling thread writes the file, or removes what it wrote."""
        self._paths.append(path)
        try:
            with cancellable(self._stopping):
                yield
        finally:
            self._paths.remove(path)

    def stop(self, hurried: threading.Event) -> None:
        """Stop the threads, and wait for them; for some seconds at most, and not once `hurried` is set."""
        self._stopping.cancel()
        end = time.monotonic() + _PATIENCE
        while self._paths and time.monotonic() < end and not hurried.wait(_STEP):
            pass


def ends_of(paths: Sequence[Path]) -> list[str]:
    """A sentence for each export that was stopped before its file was complete."""
    stopped = [path for path in paths if not os.path.lexists(path)]
    return [f"The export to {path} was stopped: no file was written" for path in stopped]
