"""Shared by the commands that run a statement: the engine, its events as rows and narration, and signals."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType

from paimark.core.actions.context import Context, Counting, Remark, open_context
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import narrate, tell
from paimark.core.config import Settings, state_directory
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.export import FORMATS
from paimark.core.figures import counted, seconds
from paimark.core.regular_files import is_in_the_way
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import (
    Batch,
    Columns,
    Event,
    Explained,
    Failed,
    Finished,
    Reading,
    StageProgress,
)
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import TablePath
from paimark.core.text import clean_text, cut
from paimark.core.working_directory import absolute


class RowSink:
    """Takes the rows of a statement: `begin` with the columns, `add` batches, then `finish`.

    This one drops them: for a statement whose rows nobody wants.
    """

    def begin(self, columns: Columns) -> None:
        pass

    def add(self, batch: Batch) -> None:
        pass

    def explain(self, text: str) -> None:
        """Take an answer in words, in place of rows."""

    def finish(self) -> None:
        pass

    def abandon(self) -> None:
        """Discard an unfinished result. Safe at any time."""


def open_engine(settings: Settings) -> Engine:
    """The engine of one command. It starts no process before the first order."""
    return Engine(settings, state_directory() / "engine.log", narrate)


def looking_at(options: GlobalOptions, table: str) -> tuple[Context, TablePath]:
    """A context that only reads, and the table. Raises `NotFound`."""
    settings = options.settings()
    context = open_context(settings.warehouse, settings.options, read_only=True)
    return context, find_table(context.files, table)


@contextmanager
def asking(options: GlobalOptions, table: str) -> Iterator[tuple[Context, TablePath, Narrator]]:
    """A context with an engine that only reads, the table, and who tells of the wait. Raises `NotFound`."""
    settings, narrator = options.settings(), Narrator()
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = open_context(settings.warehouse, settings.options, True, lambda: engine)
        path = find_table(context.files, table)
        narrator.wait("Starting Spark")
        yield context, path, narrator
    narrator.clear()


def show_events(
    events: Iterable[Event], text: str, result: RowSink, narrator: Narrator, base: int = 0
) -> bool:
    """Send rows to `result`, all else to stderr; tell whether there are more. Raises its error.

    `base` is the offset of the statement in the `text`.
    """
    truncated = False
    try:
        for event in events:
            match event:
                case Reading():
                    narrator.say(f"{event.table}: {event.version}, {event.scan}")
                    if event.note:
                        narrator.say(f"  {event.note}")
                case StageProgress():
                    narrator.wait(f"{event.done} of {event.total} tasks {event.label}")
                case Columns():
                    result.begin(event)
                case Batch():
                    narrator.clear()
                    result.add(event)
                case Explained():
                    narrator.clear()
                    result.explain(event.text)
                case Finished():
                    narrator.clear()
                    _finish(result, event, narrator)
                    truncated = event.truncated
                case Failed():
                    narrator.clear()
                    if event.position is not None and event.cause == "statement":
                        narrator.point(text, base + event.position)
                    raise failure(event)
    finally:
        result.abandon()
    return truncated


def _finish(result: RowSink, end: Finished, narrator: Narrator) -> None:
    try:
        result.finish()
    except PaimarkError:
        # What an action did is done, also if its row can't be written.
        if end.message:
            narrator.result(end.message)
        raise
    _say_end(end, narrator)


def _say_end(end: Finished, narrator: Narrator) -> None:
    if end.message:
        narrator.result(end.message)
    more = f"; there are more than the first {end.rows:,}" if end.truncated else ""
    if not (end.message and narrator.label):
        narrator.result(f"{counted(end.rows, 'row')} in {seconds(end.seconds)}{more}")


def failure(event: Failed) -> PaimarkError | KeyboardInterrupt:
    """The exception for a statement that failed."""
    return KeyboardInterrupt() if event.cause == "cancelled" else event.error()


def result_path(out: str | None) -> Path | None:
    """Raises `UsageError` if the file extension names no format, or the file can't be written."""
    if out is None:
        return None
    path = Path(out)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(
            f"{out} does not say which format to write", f"End it with one of {', '.join(FORMATS)}."
        )
    return target_file(path)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like ctrl+c: changes are taken back, and the engine ends.

    A signal that is ignored (`nohup`) stays ignored. A shell that ends may send a signal twice: the second
    one interrupts nothing.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    both = (signal.SIGTERM, signal.SIGHUP)
    before = {each: handler for each in both if (handler := signal.getsignal(each)) != signal.SIG_IGN}
    try:
        for each in before:
            signal.signal(each, interrupt)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


_HINT = "Name a file in a directory that exists and may be written to."


def target_file(path: Path) -> Path:
    """The file itself, where links lead to it. Raises `UsageError` if it can't be written."""
    target = Path(os.path.realpath(absolute(str(path))))
    if is_in_the_way(target):
        kind = "a directory" if target.is_dir() else "no regular file"
        raise UsageError(f"{path} is {kind}, and is not written over", _HINT)
    try:
        _require_possible(target)
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}", _HINT) from error
    return target


def _require_possible(target: Path) -> None:
    # Raises for a name that is too long.
    with suppress(FileNotFoundError):
        target.stat()
        if not os.access(target, os.W_OK):
            raise PermissionError("it may not be changed")
    # As `ResultFile` does it: beside the target, which stays as it is until all rows are written.
    tried = target.with_name(f".paimark-{uuid.uuid4().hex}")
    tried.open("xb").close()
    tried.unlink()


_INDENT = "  "
# The width of a line of a statement where there is no terminal.
_COLUMNS = 110


class Narrator:
    """Waiting lines replace each other, and appear only on a terminal (`is_live`).

    `label` names the statement of several: `statement 2 of 3`.
    """

    def __init__(self) -> None:
        self.is_live = sys.stderr.isatty()
        self.label = ""
        self._drawn = False

    def say(self, line: str, ink: str = "") -> None:
        self.clear()
        narrate(line, ink)

    def result(self, line: str) -> None:
        """Say what came of the statement."""
        self.say(self.labelled(line))

    def wait(self, line: str) -> None:
        if self.is_live:
            width = shutil.get_terminal_size().columns - 1
            tell(f"\r\x1b[K{cut(clean_text(self.labelled(line)), width)}")
            self._drawn = True

    def labelled(self, line: str) -> str:
        """The line behind the name of the statement, if it is one of several."""
        return f"{self.label}: {line}" if self.label else line

    def step(self, line: str) -> None:
        """Take a line of a running action. Without a terminal only a `Remark` is shown."""
        if isinstance(line, Remark):
            self.say(line)
        elif isinstance(line, Counting):
            self.wait(line)
        elif self.is_live:
            self.say(line)

    def clear(self) -> None:
        """Remove the waiting line."""
        if self._drawn:
            tell("\r\x1b[K")
            self._drawn = False

    def point(self, text: str, position: int) -> None:
        """Show the line of a text at a position, with a caret below it."""
        from paimark.core.travel.parse.statement import pointed

        columns = shutil.get_terminal_size().columns if self.is_live else _COLUMNS
        for line in pointed(text, position, columns - len(_INDENT) - 1):
            self.say(_INDENT + line)
