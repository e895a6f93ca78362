"""Typed texts that are neither saved nor run, kept while the console runs: it may be killed.

Each console adds them to a file of its own, a line for each state, and keeps the file locked. A file without
a lock is of a console that was killed: the next one moves its texts to the history. No error here ends a
session.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from paimark.core.config import state_directory
from paimark.core.figures import counted
from paimark.core.regular_files import open_regular, read_regular
from paimark.tui.named_keys import key

_ENDING = ".jsonl"
# Statements, each with its outcome for the history.
Texts = Sequence[tuple[str, str]]


class Drafts:
    """The file of this console. It is made for the first text, and removed with the last."""

    def __init__(self) -> None:
        self._kept: Texts = ()
        self._path = ""
        self._descriptor: int | None = None
        self._has_ended = False
        self._lock = threading.Lock()

    def keep_soon(self, texts: Texts) -> None:
        """Write the texts if they have changed, in a thread."""
        if texts != self._kept:
            threading.Thread(target=self.keep, args=[texts], name="paimark-drafts", daemon=True).start()

    def keep(self, texts: Texts) -> None:
        """Write the texts. Ignores errors, such as a full or read-only disk."""
        with self._lock, suppress(OSError):
            if not self._has_ended:
                self._write(texts)
                self._kept = texts

    def end(self) -> None:
        """Remove the file: the texts are in the history, or need not be kept."""
        with self._lock, suppress(OSError):
            self._has_ended = True
            self._remove()

    def _write(self, texts: Texts) -> None:
        if not texts:
            self._remove()
            return
        line = msgspec.json.encode(texts) + b"\n"
        if self._descriptor is None:
            self._path, self._descriptor = _made()
        os.write(self._descriptor, line)

    def _remove(self) -> None:
        if self._descriptor is not None:
            os.unlink(self._path)
            os.close(self._descriptor)
            self._descriptor = None


def rescued() -> str:
    """Move the texts of killed consoles to the history; a sentence if there are any. For a thread."""
    count = 0
    for path in sorted(_directory().glob(f"*{_ENDING}")):
        with suppress(OSError):
            count += len(_left_in(path))
    if not count:
        return ""
    history = f"{key('tab.query')}, then {key('query.history')} lists"
    killed = f"A console was killed with {counted(count, 'statement')} not run"
    return f"{killed}: {history} {'it' if count == 1 else 'them'}"


def _left_in(path: Path) -> Texts:
    """Move the texts of the file's console to the history, if that was killed, and remove the file."""
    descriptor = open_regular(path, os.O_RDWR)
    with os.fdopen(descriptor, "rb") as file:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return []
        if not os.fstat(descriptor).st_nlink:
            # Another console has just done the same.
            return []
        texts = _newest(file.read())
        for sql, outcome in texts:
            keep_statement(sql, outcome)
        os.unlink(path)
        return texts


def _newest(data: bytes) -> Texts:
    """The last state: the last line may be unfinished."""
    for line in reversed(data.split(b"\n")):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(line, type=list[tuple[str, str]])
    return []


def _made() -> tuple[str, int]:
    """A new locked file: its path and descriptor."""
    # Imported late: the console starts without it.
    from tempfile import mkstemp

    _directory().mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        descriptor, path = mkstemp(_ENDING, dir=_directory())
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Before the lock another console may have taken it for one that was left.
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)


def _directory() -> Path:
    return state_directory() / "drafts"


_KEPT = 500


class QueryExecution(msgspec.Struct, frozen=True):
    """`time` is epoch milliseconds; `outcome` is the result in a few words."""

    time: int
    sql: str
    outcome: str


def history_path() -> Path:
    return state_directory() / "history.jsonl"


def keep_statement(sql: str, outcome: str) -> None:
    """Add a statement to the history now. Ignores errors."""
    add_to_history(history_path(), QueryExecution(int(time.time() * 1000), sql.strip(), outcome))


def read_history(path: Path) -> list[QueryExecution]:
    """Read the newest statements, newest first, each once; unreadable lines are ignored."""
    try:
        lines = read_regular(path).splitlines()
    except OSError:
        return []
    latest: dict[str, QueryExecution] = {}
    for line in reversed(lines[-_KEPT:]):
        try:
            ran = msgspec.json.decode(line, type=QueryExecution)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        latest.setdefault(ran.sql, ran)
    return list(latest.values())


def add_to_history(path: Path, ran: QueryExecution) -> None:
    """Append to a file that only its owner can read, as statements may hold secrets. Ignores errors."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab", opener=_private) as file:
            file.write(msgspec.json.encode(ran) + b"\n")
    except OSError:
        return


def _private(name: str, flags: int) -> int:
    return open_regular(name, flags)
