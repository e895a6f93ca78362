"""Statements that were run, kept from one sitting to the next: one JSON object a line, oldest first."""

from __future__ import annotations

from pathlib import Path

import msgspec

from core.regular_files import open_regular, read_regular

_KEPT = 500


class QueryExecution(msgspec.Struct, frozen=True):
    """`time` is epoch milliseconds; `outcome` is what came of it, in a few words."""

    time: int
    sql: str
    outcome: str


def read_history(path: Path) -> list[QueryExecution]:
    """Newest first, each statement once; what can't be read is left out."""
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
    """Append, readable by its owner only: statements may hold secrets. A full disk must not stop a query."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab", opener=_private) as file:
            file.write(msgspec.json.encode(ran) + b"\n")
    except OSError:
        return


def _private(name: str, flags: int) -> int:
    return open_regular(name, flags)
