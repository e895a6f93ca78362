"""The history of statements, kept between sessions: one JSON object per line, oldest first."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from paimark.core.config import state_directory
from paimark.core.regular_files import open_regular, read_regular

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
