"""Parse date and timestamp literals as Spark 4.1 does.

One difference: a zone may follow the minutes (`2026-05-01T00:00Z`); Spark requires seconds before a zone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from paimark.core.durations import parse_duration
from paimark.core.errors import UsageError

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


HINT = "Write it like yesterday 03:10, monday 03:10, 2 h ago, 03:10 or 2026-11-20 03:00."
_AGO = re.compile(r"(.+?)\s+ago", re.IGNORECASE)
# Tables take no weeks for a length of time, as Paimon does not; people say them.
_WEEKS = re.compile(r"([0-9]{1,5})\s*(?:w|weeks?)", re.IGNORECASE)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = re.compile(rf"(today|yesterday|{'|'.join(_WEEKDAYS)})(?:\s+(?:at\s+)?(.+))?", re.IGNORECASE)


def read_spoken_time(text: str, now_ms: int) -> int:
    """Parse a spoken time to epoch milliseconds, in this machine's zone unless the text has one.

    A day without a time of day means its beginning, a day of the week the last one before today. Raises
    `UsageError`.
    """
    text_left = " ".join(text.split())
    now = datetime.fromtimestamp(now_ms / 1000)
    try:
        if text_left.lower() == "now":
            return now_ms
        if match := _AGO.fullmatch(text_left):
            weeks = _WEEKS.fullmatch(match[1])
            return now_ms - parse_duration(f"{int(weeks[1]) * 7} d" if weeks else match[1])
        day = now.date()
        if match := _DAY.fullmatch(text_left):
            day -= timedelta(days=_days_back(match[1].lower(), day))
            text_left = match[2] or "00:00"
            if ":" not in text_left:
                raise ValueError("no time of day")
        return int(read_timestamp(text_left, day).timestamp() * 1000)
    except (ValueError, OverflowError, OSError, UsageError) as error:
        raise UsageError(f"{text!r} is not a time", HINT) from error


def _days_back(name: str, today: date) -> int:
    if name in _WEEKDAYS:
        return (today.weekday() - _WEEKDAYS.index(name) - 1) % 7 + 1
    return 0 if name == "today" else 1


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?")
_LARGEST_OFFSET = timedelta(hours=18)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of(name: str) -> tzinfo:
    """Parse `Z`, `UTC`, `+08:00`, `GMT-3` or a region (`Europe/Berlin`). Raises `ValueError`."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes, seconds = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        if offset > _LARGEST_OFFSET:
            raise ValueError(f"{name} is more than 18 hours from UTC")
        return timezone(offset if sign == "+" else -offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # OSError: `Europe` is a directory of regions, which can't be read as a zone.
        raise ValueError(f"{name} is not a time zone") from error


def instant(local: datetime, zone: tzinfo) -> datetime:
    """Convert a local time in a zone to UTC.

    As Java's `ZonedDateTime.ofLocal`: a local time that a clock change skips moves later by the length of the
    gap; a local time that occurs twice means the first. Raises `OverflowError` outside the years 1 to 9999.
    """
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970, rounded down."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def shown_time(time_ms: int, zone: tzinfo) -> str:
    """Epoch milliseconds as text: `2026-05-01 12:00:00.123+02:00`; `N ms since 1970` outside the calendar."""
    try:
        return from_epoch(milliseconds=time_ms).astimezone(zone).isoformat(" ", "milliseconds")
    except OverflowError:
        return f"{time_ms} ms since 1970"


def from_epoch(**amount: float) -> datetime:
    """1970 plus an amount, given as `timedelta` takes it. Raises `OverflowError`."""
    return _EPOCH + timedelta(**amount)
