"""Format values for people: counts, times, ages, sizes. The result is never markup."""

from __future__ import annotations

from typing import Literal

from paimark.core.figures import clock_time, distance, size
from paimark.core.text import clean_text

CellKind = Literal["text", "number", "id", "time", "age", "bytes"]

# In characters, more than any cell shows: a longer text is cut early, to save time.
LONGEST = 1000


def format_value(kind: CellKind, value: object, now_ms: int) -> str:
    """One line of clean text; times and ages are given in epoch milliseconds. Times are local."""
    if isinstance(value, str):
        return clean_text(value[:LONGEST])
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kind == "number":
            return f"{value:,}"
        if kind == "time":
            return clock_time(int(value))
        if kind == "age":
            return distance(int(value), now_ms)
        if kind == "bytes":
            return size(int(value))
        return str(value)
    # Each element of a list or byte takes at least one character.
    return clean_text(whole_text(value[:LONGEST] if isinstance(value, list | bytes) else value)[:LONGEST])


def whole_text(value: object) -> str:
    """Any value of a cell as text in full length, with bytes and parts as in files; not cleaned yet."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple | bytes):
        from paimark.core.export.json_rows import as_text

        return as_text(value)
    return str(value)
