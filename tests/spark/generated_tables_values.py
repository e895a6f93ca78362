"""Types and values for generated tables, and values in a form that every reader's can be compared in."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Plain = Any

_EPOCH = dt.datetime(1970, 1, 1)
_TEXTS = [
    "",
    " ",
    "a",
    "aa",
    "a\0b",
    "ä",
    "\uffee",
    "\N{GRINNING FACE}",
    "null",
    "it's",
    'x"y\\z',
    "50%_",
    "v1[red]\x1b[0m\r\n",
    "long text that does not fit into eight bytes",
]
_DAYS = ["0001-01-01", "1582-10-04", "1582-10-15", "1899-12-31", "1969-12-31", "1970-01-01", "2026-05-01"]
_DAYS += ["9999-12-31"]
_TIMES = [(0, 0, 0, 0), (1, 30, 0, 0), (12, 34, 56, 789123), (23, 59, 59, 999999)]

ATOMIC: list[pa.DataType] = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.binary(),
    pa.decimal128(5, 2),
    pa.decimal128(18, 4),
    pa.decimal128(38, 10),
    pa.date32(),
    pa.timestamp("ms"),
    pa.timestamp("us"),
    pa.timestamp("ms", tz="UTC"),
    pa.timestamp("us", tz="UTC"),
]
KEYS: list[pa.DataType] = [
    pa.int64(),
    pa.int32(),
    pa.string(),
    pa.binary(),
    pa.decimal128(10, 2),
    pa.decimal128(30, 3),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("ms"),
    pa.int16(),
    pa.bool_(),
]
# Longer than any text here, as nobody checks the length.
TEXTS = ["CHAR(60)", "VARCHAR(60)"]
PARTITIONS: list[pa.DataType] = [pa.string(), pa.int32(), pa.date32(), pa.bool_(), pa.int64()]
# What a column's type may become, and Paimon's word for it.
WIDER: list[tuple[pa.DataType, pa.DataType, str]] = [
    (pa.int8(), pa.int32(), "INT"),
    (pa.int16(), pa.int64(), "BIGINT"),
    (pa.int32(), pa.int64(), "BIGINT"),
    (pa.float32(), pa.float64(), "DOUBLE"),
    (pa.decimal128(5, 2), pa.decimal128(9, 2), "DECIMAL(9, 2)"),
]
ADDED: list[tuple[pa.DataType, str]] = [
    (pa.int32(), "INT"),
    (pa.string(), "STRING"),
    (pa.float64(), "DOUBLE"),
    (pa.date32(), "DATE"),
    (pa.timestamp("us"), "TIMESTAMP(6)"),
]


def nested(random: Random) -> pa.DataType:
    """An array, a map or a row, of atomic types or of one another."""
    inner: pa.DataType = random.choice(ATOMIC) if random.random() < 0.7 else nested(random)
    kind = random.randrange(3)
    if kind == 0:
        return pa.list_(inner)
    if kind == 1:
        return pa.map_(random.choice([pa.string(), pa.int32(), pa.int64()]), inner)
    return pa.struct([("a", inner), ("B", random.choice(ATOMIC))])


def value(random: Random, kind: pa.DataType, since: str = "") -> Any:
    """Any value of a type but null, as pyarrow takes it; often one at the edge of what the type holds.

    Timestamps are not before the day `since`.
    """
    if pa.types.is_integer(kind):
        least = -(2 ** (kind.bit_width - 1))
        return random.choice([least, -1, 0, 1, -least - 1, random.randrange(least, -least)])
    if pa.types.is_floating(kind):
        return random.choice(
            [0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, random.randrange(1000) / 8]
        )
    if pa.types.is_boolean(kind):
        return random.random() < 0.5
    if pa.types.is_string(kind):
        return random.choice(_TEXTS) + random.choice(["", "", str(random.randrange(10))])
    if pa.types.is_binary(kind):
        return bytes(random.choices([0, 1, 127, 128, 255], k=random.choice([0, 1, 3, 12])))
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        unscaled = random.choice([0, 1, -1, most, -most, random.randint(-most, most)])
        # Arithmetic would round to the 28 digits of Python's default.
        return Decimal(f"{unscaled}E-{kind.scale}")
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(random.choice(_DAYS))
    if pa.types.is_timestamp(kind):
        return _moment(random, kind, since)
    if pa.types.is_list(kind):
        return [nullable(random, kind.value_type, since) for _ in range(random.randrange(4))]
    if pa.types.is_map(kind):
        keys = {value(random, kind.key_type, since) for _ in range(random.randrange(3))}
        return [(key, nullable(random, kind.item_type, since)) for key in sorted(keys)]
    if pa.types.is_struct(kind):
        return {field.name: nullable(random, field.type, since) for field in kind}
    raise TypeError(str(kind))


def nullable(random: Random, kind: pa.DataType, since: str = "") -> Any:
    return None if random.random() < 0.2 else value(random, kind, since)


def key_values(random: Random, kind: pa.DataType, count: int, since: str = "") -> list[Any]:
    """Different values of a type, up to so many: what keys are made of."""
    found = {value(random, kind, since) for _ in range(count * 2)}
    if pa.types.is_integer(kind):
        found |= set(range(min(count, 100)))
    return sorted(found, key=repr)[:count]


def _moment(random: Random, kind: pa.DataType, since: str) -> dt.datetime:
    day = dt.date.fromisoformat(random.choice([each for each in _DAYS[:-1] if each >= since]))
    hour, minute, second, micros = random.choice(_TIMES)
    if kind.unit == "ms":
        micros -= micros % 1000
    zone = dt.UTC if kind.tz else None
    return dt.datetime.combine(day, dt.time(hour, minute, second, micros), zone)


def plain(given: Any, kind: pa.DataType) -> Plain:
    """A Python value as the judge writes it: see `Values.java`."""
    if given is None:
        return None
    if pa.types.is_floating(kind):
        return given if math.isfinite(given) else _not_finite(given)
    if pa.types.is_binary(kind):
        return bytes(given).hex()
    if pa.types.is_decimal(kind):
        return f"{Decimal(given):.{kind.scale}f}"
    if pa.types.is_date(kind):
        return (given - _EPOCH.date()).days
    if pa.types.is_timestamp(kind):
        given = given.astimezone(dt.UTC).replace(tzinfo=None) if given.tzinfo else given
        return (given - _EPOCH) // dt.timedelta(microseconds=1)
    if pa.types.is_list(kind):
        return [plain(each, kind.value_type) for each in given]
    if pa.types.is_map(kind):
        pairs = given.items() if isinstance(given, dict) else given
        return [[plain(key, kind.key_type), plain(each, kind.item_type)] for key, each in pairs]
    if pa.types.is_struct(kind):
        return [plain(given[field.name], field.type) for field in kind]
    return given


def _not_finite(given: float) -> str:
    return "NaN" if math.isnan(given) else "Infinity" if given > 0 else "-Infinity"


def comparable(row: list[Plain], kinds: list[pa.DataType]) -> str:
    """One text for equal rows: maps in the order of their keys."""
    return json.dumps([_ordered(each, kind) for each, kind in zip(row, kinds, strict=True)])


def _ordered(given: Plain, kind: pa.DataType) -> Plain:
    if given is None:
        return None
    if pa.types.is_floating(kind):
        return given if isinstance(given, str) else float(given)
    if pa.types.is_list(kind):
        return [_ordered(each, kind.value_type) for each in given]
    if pa.types.is_map(kind):
        return sorted(
            ([key, _ordered(each, kind.item_type)] for key, each in given), key=lambda pair: repr(pair[0])
        )
    if pa.types.is_struct(kind):
        return [_ordered(each, field.type) for each, field in zip(given, kind, strict=True)]
    return given


def literal(given: Plain, kind: pa.DataType) -> str:
    """A plain value of an atomic type in Spark SQL."""
    if pa.types.is_boolean(kind):
        return "true" if given else "false"
    if pa.types.is_integer(kind):
        # The smallest number of a type has no literal of its own: a minus is taken of a number too great.
        return str(given) if abs(given) < 2**31 else f"CAST('{given}' AS BIGINT)"
    if pa.types.is_floating(kind):
        return f"CAST('{given}' AS {'FLOAT' if kind.bit_width == 32 else 'DOUBLE'})"
    if pa.types.is_string(kind):
        return "'" + "".join(_escaped(each) for each in given) + "'"
    if pa.types.is_binary(kind):
        return f"X'{given}'"
    if pa.types.is_decimal(kind):
        return f"CAST('{given}' AS DECIMAL({kind.precision}, {kind.scale}))"
    if pa.types.is_date(kind):
        return f"DATE'{(_EPOCH + dt.timedelta(days=given)).date().isoformat()}'"
    if pa.types.is_timestamp(kind):
        word, zone = ("TIMESTAMP", "Z") if kind.tz else ("TIMESTAMP_NTZ", "")
        return f"{word}'{(_EPOCH + dt.timedelta(microseconds=given)).isoformat(' ')}{zone}'"
    raise TypeError(str(kind))


def _escaped(char: str) -> str:
    return "\\" + char if char in "\\'" else char if char.isprintable() else f"\\u{ord(char):04x}"
