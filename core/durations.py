"""Lengths of time as people and Paimon write them: `7 d`, `30 min`, `1 h`, `P7D`, `PT1H30M`."""

from __future__ import annotations

import re

from paimark.core.errors import UsageError

_UNITS = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
_PLAIN = r"([0-9]{1,12})\s*([a-z]+)"
_ISO = (
    r"(?i)P(?=[0-9T])(?:([0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.([0-9]{1,3})[0-9]*)?S)?)?"
)


# The least value of the table option savepoint.create-interval: watchers check once a minute.
SHORTEST_INTERVAL = 60_000


def parse_interval(text: str) -> int:
    """Milliseconds of a savepoint.create-interval. Raises `UsageError` for less than a minute."""
    interval = parse_duration(text)
    if interval < SHORTEST_INTERVAL:
        raise UsageError(f"{text!r} is shorter than a minute", "Write it like 30 min, 1 h or 1 d.")
    return interval


def parse_duration(text: str) -> int:
    """Milliseconds. A number alone is refused: Paimon takes it for milliseconds and people rarely mean them.

    Raises `UsageError`.
    """
    stripped = text.strip()
    if plain := re.fullmatch(_PLAIN, stripped.lower()):
        number, unit = plain.groups()
        if unit in _UNITS:
            return int(number) * _UNITS[unit]
    elif iso := re.fullmatch(_ISO, stripped):
        days, hours, minutes, seconds, fraction = iso.groups(default="0")
        whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
        return whole * 1000 + int(fraction.ljust(3, "0"))
    raise UsageError(f"{text!r} is not a length of time", "Write it like 7 d, 12 h, 30 min or PT1H.")
