"""Partitions in words: their values, as Spark's SHOW PARTITIONS prints them (`day=2026-05-01/kind=null`).

The directories tell people less: a DATE lies in `day=20574`, and a null, '' and blanks in one directory.
Source: Spark's ShowPartitionsExec, its casts to STRING and `escapePathName`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo

from paimark.core.arrow_values import shortest
from paimark.core.errors import Corrupt
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.manifests.partitions import starts, text_of, timestamp, variable
from paimark.core.table.records import TableSchema

_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(1, 32))))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The calendar repeats itself after so many days: so it goes on where Python's ends.
_CYCLE_DAYS, _CYCLE_YEARS = 146097, 400
_DAY_SECONDS = 86_400
# Java prints numbers outside these powers of ten with an exponent.
_LEAST_POWER, _LEAST_EXPONENT = -3, 7
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

_Text = Callable[[bytes, int], str]


class PartitionValues:
    """Prints partitions. `zone` is for times that are moments. Raises `Refused` for types without a text."""

    def __init__(self, schema: TableSchema, zone: tzinfo = UTC) -> None:
        types = {field.name: str(field.type) for field in schema.fields}
        self._columns = [(_escape(key), _printer(key, types[key], zone)) for key in schema.partition_keys]

    def text(self, partition: bytes) -> str:
        """Its columns and values; empty for a table without partitions. Raises `Corrupt`."""
        try:
            fields = starts(partition, len(self._columns)) if self._columns else []
            pairs = zip(self._columns, fields, strict=True)
            return "/".join(
                f"{name}={'null' if at is None else _escape(print_value(partition[4:], at))}"
                for (name, print_value), at in pairs
            )
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise Corrupt(f"The partition values {partition.hex()} can't be read ({error})") from error


def _escape(text: str) -> str:
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED else each for each in text)


def _printer(column: str, type_text: str, zone: tzinfo) -> _Text:
    kind = ColumnType.of(type_text)
    match kind.name:
        case "DATE":
            return lambda row, at: _day(struct.unpack_from("<i", row, at)[0])
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            place = zone if kind.is_local else UTC
            return lambda row, at: _time(*timestamp(row, at, kind.fraction), place)
        case "TIME":
            return lambda row, at: _clock(*divmod(struct.unpack_from("<i", row, at)[0] * 1000, 1_000_000))
        case "FLOAT":
            return lambda row, at: _number(shortest(struct.unpack_from("<f", row, at)[0]))
        case "DOUBLE":
            return lambda row, at: _number(struct.unpack_from("<d", row, at)[0])
        case "BINARY" | "VARBINARY" | "BYTES":
            return lambda row, at: variable(row, at).decode("utf-8", "replace")
    return text_of(column, type_text, legacy=False)


def _day(days: int) -> str:
    cycles, rest = divmod(days, _CYCLE_DAYS)
    day = date(1970, 1, 1) + timedelta(days=rest)
    year = day.year + cycles * _CYCLE_YEARS
    return f"{_year(year)}-{day:%m-%d}"


def _year(year: int) -> str:
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}"


def _time(millis: int, nanos: int, zone: tzinfo) -> str:
    seconds, rest = divmod(millis, 1000)
    try:
        shift = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    except OverflowError:
        # No calendar of Python's says which clock such a year has.
        shift = timedelta()
    days, second = divmod(seconds + int((shift or timedelta()).total_seconds()), _DAY_SECONDS)
    return f"{_day(days)} {_clock(second, rest * 1000 + nanos // 1000)}"


def _clock(second: int, micros: int) -> str:
    """Spark keeps microseconds, and prints no zeros at the end of a fraction."""
    fraction = f".{micros:06d}".rstrip("0").rstrip(".")
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}{fraction}"


def _number(value: float) -> str:
    """As Java prints a floating-point number: `1.0`, `1.0E7`."""
    text = repr(value)
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    digits = max(len(text.partition("e")[0].lstrip("-").replace(".", "").strip("0")), 1)
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or _LEAST_POWER <= int(exponent) < _LEAST_EXPONENT:
        return f"{value:.{max(digits - 1 - int(exponent), 1)}f}"
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}E{int(exponent)}"
