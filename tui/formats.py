"""Format values for people: counts, times, ages, sizes. The result is never markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from paimark.core.figures import clock_time, distance, size
from paimark.core.text import clean_text, plain_text

CellKind = Literal["text", "number", "id", "time", "age", "bytes"]

_UUID = re.compile(r"(?<![0-9a-f])([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})
# In characters, more than any cell shows: a longer text is cut early, to save time.
LONGEST = 1000


def short_user(text: str) -> str:
    """A commit user with its UUID cut short: `order-load-1f0c2e77…`."""
    return _UUID.sub(r"\1…", text[:LONGEST])


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


def copied_cells(values: Iterable[object], null: str = "") -> str:
    """The cells of a row as one line for other programs: separated by tabs, with those within as `\\t`."""
    texts = (null if value is None else whole_text(value) for value in values)
    return "\t".join(text.translate(_ESCAPES) for text in texts)


def whole_text(value: object) -> str:
    """Any value of a cell as text in full length, with bytes and parts as in files; not cleaned yet."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple | bytes):
        from paimark.core.export.json_rows import as_text

        return as_text(value)
    return plain_text(value)
