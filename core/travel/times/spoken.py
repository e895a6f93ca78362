"""Parse times as people say them: `yesterday 03:10`, `monday 03:10`, `2 h ago`, `2026-11-20 03:00`."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from paimark.core.durations import parse_duration
from paimark.core.errors import UsageError
from paimark.core.travel.times.literals import read_timestamp

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
