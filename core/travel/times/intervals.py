"""Parse SQL intervals to durations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

_MICROS = {
    "MICROSECOND": Decimal(1),
    "MILLISECOND": Decimal(1_000),
    "SECOND": Decimal(1_000_000),
    "MINUTE": Decimal(60_000_000),
    "HOUR": Decimal(3_600_000_000),
    "DAY": Decimal(86_400_000_000),
    "WEEK": Decimal(604_800_000_000),
}
_MONTHS = {"MONTH": 1, "YEAR": 12}
_DAY = int(_MICROS["DAY"])
_AMOUNT = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)")
_WRITTEN_OUT = re.compile(r"\s*([+-]?)\s*([0-9.]+)\s+([a-z]+)", re.IGNORECASE)
_RANGE_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_SEPARATORS = {"DAY": r"\s+", "HOUR": ":", "MINUTE": ":"}


@dataclass(frozen=True, slots=True)
class Duration:
    """Calendar months, and microseconds. Whole days in the microseconds are calendar days (as in Spark)."""

    months: int = 0
    micros: int = 0

    def times(self, factor: int) -> Duration:
        return Duration(self.months * factor, self.micros * factor)

    def plus(self, other: Duration) -> Duration:
        return Duration(self.months + other.months, self.micros + other.micros)

    def split_days(self) -> tuple[int, int]:
        """Whole days, rounded towards zero, and the remaining microseconds."""
        days = abs(self.micros) // _DAY * (1 if self.micros >= 0 else -1)
        return days, self.micros - days * _DAY


def read_interval(amounts: Iterable[tuple[str, str]]) -> Duration:
    """Add up amounts with their units as written (see `expressions.Interval`). Raises `ValueError`."""
    total = Duration()
    for amount, unit in amounts:
        if not unit:
            total = total.plus(_written_out(amount))
        elif " TO " in unit:
            total = total.plus(_range(amount, *unit.split(" TO ")))
        else:
            total = total.plus(_amount(amount, unit))
    return total


def _amount(amount: str, unit: str) -> Duration:
    unit = unit.upper().removesuffix("S")
    if not _AMOUNT.fullmatch(amount):
        raise ValueError(f"'{amount}' is not an amount")
    if "." in amount and unit != "SECOND":
        raise ValueError(f"'{amount}' is not a whole number of {unit.lower()}s")
    if unit in _MONTHS:
        return Duration(months=int(amount) * _MONTHS[unit])
    if unit not in _MICROS:
        raise ValueError(f"{unit} is not a unit of time")
    return Duration(micros=int(Decimal(amount) * _MICROS[unit]))


def _written_out(text: str) -> Duration:
    """Parse `1 day 2 hours`."""
    total, position = Duration(), 0
    body = re.sub(r"^\s*interval\s", "", text.rstrip(), flags=re.IGNORECASE)
    while match := _WRITTEN_OUT.match(body, position):
        sign, amount, unit = match.groups()
        total = total.plus(_amount(sign + amount, unit))
        position = match.end()
    if position == 0 or position < len(body):
        raise ValueError(f"'{text}' is not an interval")
    return total


def _range(text: str, first: str, last: str) -> Duration:
    """Parse `1-2` YEAR TO MONTH, `1 02:03:04` DAY TO SECOND."""
    sign = -1 if text.startswith("-") else 1
    body = text.lstrip("+-")
    names: tuple[str, ...]
    if (first, last) == ("YEAR", "MONTH"):
        names = ("YEAR", "MONTH")
        pattern = r"([0-9]{1,9})-([0-9]{1,2})"
    elif first in _RANGE_UNITS and last in _RANGE_UNITS[_RANGE_UNITS.index(first) + 1 :]:
        names = _RANGE_UNITS[_RANGE_UNITS.index(first) : _RANGE_UNITS.index(last) + 1]
        pattern = "".join(rf"([0-9]{{1,9}}){_SEPARATORS[name]}" for name in names[:-1])
        pattern += r"([0-9]{1,9}(?:\.[0-9]*)?)" if last == "SECOND" else r"([0-9]{1,9})"
    else:
        raise ValueError(f"{first} TO {last} is not a range of an interval")
    match = re.fullmatch(pattern, body)
    if match is None:
        raise ValueError(f"'{text}' is not {first} TO {last}")
    total = Duration()
    for name, amount in zip(names, match.groups(), strict=True):
        total = total.plus(_amount(amount, name))
    return total.times(sign)
