"""Format counts, sizes, lengths of time and moments, alike in the console, the command and messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from humanize import intcomma, naturalsize

# The most names that a sentence holds.
MOST_NAMES = 3
_AGES = ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h"), (86400 * 60, 86400, "d"))
_YEAR = 86400 * 365
# The clock of a writer may hold any number.
_NO_CALENDAR = (OverflowError, ValueError, OSError)
_LENGTHS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))


def counted(count: int, one: str, many: str = "") -> str:
    """`1 row`, `1,200 rows`, `2 branches`."""
    return f"{intcomma(count)} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], noun: str = "") -> str:
    """`a`, `a and b`, `a, b and c`; more than three names are a count: `5 tags`. `noun` is one of them."""
    if len(names) > MOST_NAMES and noun:
        return counted(len(names), noun, "" if not noun.endswith("h") else f"{noun}es")
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def some_of(names: Sequence[str], most: int = MOST_NAMES, count: int = 0) -> str:
    """`a, b, c and 2 more`: the first names, and how many are beside them; `count`: of so many in all."""
    more = max(len(names), count) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def size(count: int) -> str:
    """Bytes: `812 B`, `1.4 MB`."""
    words = naturalsize(count, format="%.0f" if count < 1000 else "%.1f")
    return words.replace(" Bytes", " B").replace(" Byte", " B")


def duration(milliseconds: int) -> str:
    """`1 h 30 min`, `2 d`, `500 ms`: at most two units."""
    left, parts = milliseconds, []
    for unit, name in _LENGTHS:
        number, left = divmod(left, unit)
        if number:
            parts.append(f"{number:,} {name}")
    return " ".join(parts[:2]) or "0 ms"


def seconds(value: float) -> str:
    """`0.04 s`, `3.2 s`, `2 min 5 s`."""
    if value < 1:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def whole_seconds(value: float) -> str:
    """`12 s`, `2 min 5 s`: how long something that still runs has taken."""
    return f"{int(value)} s" if value < 60 else seconds(value)


def clock_time(epoch_ms: int) -> str:
    """`2026-05-01 12:03:11` in the zone of this machine; the number itself if no calendar holds it."""
    try:
        return datetime.fromtimestamp(epoch_ms // 1000).isoformat(" ")
    except _NO_CALENDAR:
        return str(epoch_ms)


def moment(epoch_ms: int) -> str:
    """`2026-05-01 12:03:11+02:00`, in the zone of this machine: `TIMESTAMP AS OF` accepts it."""
    return _calendar(epoch_ms, "seconds")


def minute(epoch_ms: int) -> str:
    """`2026-05-01 12:03` in the zone of this machine: which version is meant."""
    return clock_time(epoch_ms)[:16]


def exact_moment(epoch_ms: int) -> str:
    """`2026-05-01 12:03:11.042+02:00`."""
    return _calendar(epoch_ms, "milliseconds")


def exact_time(epoch_ms: int, now_ms: int) -> str:
    """`2026-05-01 12:03:11.042+02:00, 2 h ago`."""
    return f"{exact_moment(epoch_ms)}, {age(epoch_ms, now_ms)}"


def age(epoch_ms: int, now_ms: int) -> str:
    """`3 min ago`, `in 2 h`, `now`."""
    words = distance(epoch_ms, now_ms)
    return words if words == "now" or now_ms < epoch_ms else f"{words} ago"


def distance(epoch_ms: int, now_ms: int) -> str:
    """`3 min`, `in 2 h`, `now`: for a column of ages."""
    passed = (now_ms - epoch_ms) // 1000
    if abs(passed) < 2:
        return "now"
    return _distance(passed) if passed > 0 else f"in {_distance(-passed)}"


def _distance(passed: int) -> str:
    for below, unit, name in _AGES:
        if passed < below:
            return f"{passed // unit} {name}"
    if passed < 2 * _YEAR:
        return f"{passed // (86400 * 30)} mo"
    return f"{passed // _YEAR} y"


def _calendar(epoch_ms: int, digits: str) -> str:
    try:
        local = datetime.fromtimestamp(epoch_ms // 1000).astimezone()
    except _NO_CALENDAR:
        return f"{epoch_ms} ms since 1970"
    return local.replace(microsecond=epoch_ms % 1000 * 1000).isoformat(" ", digits)
