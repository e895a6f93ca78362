"""Parse time zones as Spark writes them, and resolve local times in them as Java does."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
