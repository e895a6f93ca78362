"""Time zones as Spark writes them, and local times in them as Java resolves them."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?")
_LARGEST_OFFSET = timedelta(hours=18)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of(name: str) -> tzinfo:
    """`Z`, `UTC`, `+08:00`, `GMT-3` or a region (`Europe/Berlin`). Raises `ValueError` for any other text."""
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
        # OSError: a directory of regions (`Europe`) is found and can't be read as one.
        raise ValueError(f"{name} is not a time zone") from error


def instant(local: datetime, zone: tzinfo) -> datetime:
    """The moment, in UTC, of a local time in a zone.

    As Java's `ZonedDateTime.ofLocal`: a time skipped by a change of clocks is that much later, of one that
    happens twice the first is meant. Raises `OverflowError` outside the years 1 to 9999.
    """
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def shifted(moment: datetime, zone: tzinfo, months: int, days: int) -> datetime:
    """The moment so many calendar months, then days away in a zone.

    A day that a month lacks is its last. Raises `OverflowError` outside the years 1 to 9999.
    """
    here = moment.astimezone(zone)
    year, month = divmod(here.year * 12 + here.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("outside the years 1 to 9999")
    day = min(here.day, monthrange(year, month + 1)[1])
    local = here.replace(year=year, month=month + 1, day=day, tzinfo=None, fold=0) + timedelta(days=days)
    # Of a local time that happens twice, the one with the offset it came with is kept.
    second = local.replace(tzinfo=zone, fold=1)
    happens_twice = _offset(second) < _offset(local.replace(tzinfo=zone))
    if happens_twice and _offset(second) == _offset(here):
        return second.astimezone(UTC)
    return instant(local, zone)


def _offset(time: datetime) -> timedelta:
    return time.utcoffset() or timedelta()


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970, rounded down."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def shown_time(time_ms: int, zone: tzinfo) -> str:
    """`2026-05-01 12:00:00.123+02:00`, of epoch milliseconds that a calendar may not have."""
    try:
        return from_epoch(milliseconds=time_ms).astimezone(zone).isoformat(" ", "milliseconds")
    except OverflowError:
        return f"{time_ms} ms since 1970"


def from_epoch(**amount: float) -> datetime:
    """The moment so long after 1970, as `timedelta` takes it. Raises `OverflowError`."""
    return _EPOCH + timedelta(**amount)
