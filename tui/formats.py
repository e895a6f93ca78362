"""Values as a person reads them: counts, times, ages, sizes. Nothing here is ever markup."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from core.text import clean_text

Kind = Literal["text", "number", "id", "time", "age", "bytes"]

# No cell is wider than this; what is longer is cut before it costs anything.
LONGEST = 1000

_AGES = ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h"), (86400 * 60, 86400, "d"))
_YEAR = 86400 * 365
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def format_value(kind: Kind, value: object, now_ms: int) -> str:
    """One line of clean text; times and ages are epoch milliseconds, shown in the local zone."""
    if isinstance(value, str):
        return clean_text(value[:LONGEST])
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kind == "number":
            return f"{value:,}"
        if kind == "time":
            return clock_time(int(value))
        if kind == "age":
            return _distance_from(int(value), now_ms)
        if kind == "bytes":
            return size(int(value))
        return str(value)
    return clean_text(whole_text(value)[:LONGEST])


def whole_text(value: object) -> str:
    """Any value of a cell as text, however long; not clean yet."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex(" ")
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)


def clock_time(epoch_ms: int) -> str:
    """`2026-05-01 12:03:11` in the local zone; the number itself when no calendar holds it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch_ms // 1000))
    except (OverflowError, ValueError, OSError):
        return str(epoch_ms)


def exact_time(epoch_ms: int, now_ms: int) -> str:
    """`2026-05-01 12:03:11.042 CEST, 2 h ago`."""
    try:
        zone = time.strftime("%Z", time.localtime(epoch_ms // 1000))
    except (OverflowError, ValueError, OSError):
        return str(epoch_ms)
    return f"{clock_time(epoch_ms)}.{epoch_ms % 1000:03d} {zone}, {age(epoch_ms, now_ms)}"


def age(epoch_ms: int, now_ms: int) -> str:
    """`3 min ago`, `in 2 h`, `now`."""
    words = _distance_from(epoch_ms, now_ms)
    if words == "now":
        return words
    return f"{words} ago" if now_ms > epoch_ms else f"in {words.removeprefix('-')}"


def _distance_from(epoch_ms: int, now_ms: int) -> str:
    """`3 min`, `-2 h` for what is still to come, `now`."""
    passed = (now_ms - epoch_ms) // 1000
    if abs(passed) < 2:
        return "now"
    return _distance(passed) if passed > 0 else f"-{_distance(-passed)}"


def _distance(seconds: int) -> str:
    for below, unit, name in _AGES:
        if seconds < below:
            return f"{seconds // unit} {name}"
    if seconds < 2 * _YEAR:
        return f"{seconds // (86400 * 30)} mo"
    return f"{seconds // _YEAR} y"


def duration(milliseconds: int) -> str:
    """`1 h 30 min`, `2 d`, `500 ms`: at most two units."""
    left, parts = milliseconds, []
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")):
        number, left = divmod(left, unit)
        if number:
            parts.append(f"{number:,} {name}")
    return " ".join(parts[:2]) or "0 ms"


def size(count: int) -> str:
    """Bytes with at most three figures: `812 B`, `1.4 MB`."""
    amount = float(count)
    for unit in _SIZES:
        if abs(amount) < 999.5 or unit == _SIZES[-1]:
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"


def counted(count: int, one: str, many: str = "") -> str:
    """`1 row`, `1,200 rows`, `2 branches`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def seconds(value: float) -> str:
    """`0.04 s`, `3.2 s`, `2 min 5 s`."""
    if value < 1:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"
