"""Parse date and timestamp literals as Spark 4.1 does.

One difference: a zone may follow the minutes (`2026-05-01T00:00Z`); Spark requires seconds before a zone.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time

from paimark.core.travel.times.zones import zone_of

_DATE = r"[+-]?(?P<year>\d{4,6})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
_CLOCK = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?"
    r"(?P<zone>\s*[A-Z+-][\w/+:-]*)?)?"
)
_TIMESTAMP = re.compile(rf"{_DATE}(?:[ T]{_CLOCK})?)?)?", re.ASCII)
_TIME_ONLY = re.compile(rf"T?(?=\d+:){_CLOCK}", re.ASCII)
_DATE_THEN_ANYTHING = re.compile(rf"{_DATE}(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)


def read_timestamp(text: str, today: date) -> datetime:
    """Parse a timestamp; its `tzinfo` is the zone in the text, None if there is none.

    A time of day without a date is on `today`. Raises `ValueError`.
    """
    dated = _TIMESTAMP.fullmatch(text.strip())
    match = dated or _TIME_ONLY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a timestamp")
    parts = match.groupdict()
    zone = zone_of(parts["zone"].strip()) if parts["zone"] else None
    try:
        clock = time(
            int(parts["hour"] or 0),
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            int((parts["fraction"] or "").ljust(6, "0")[:6]),
        )
    except ValueError as error:
        raise ValueError(f"'{text}' is not a timestamp: {error}") from error
    return datetime.combine(_day(dated) if dated else today, clock, zone)


def read_date(text: str) -> date:
    """Parse `2026`, `2026-5` or `2026-5-1`; text after a space or T is ignored. Raises `ValueError`."""
    match = _DATE_THEN_ANYTHING.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a date")
    return _day(match)


def _day(match: re.Match[str]) -> date:
    year, month, day = match.group("year", "month", "day")
    sign = -1 if match.group().startswith("-") else 1
    try:
        return date(sign * int(year), int(month or 1), int(day or 1))
    except ValueError as error:
        raise ValueError(f"'{match.group()}' is not a date: {error}") from error
