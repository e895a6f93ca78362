"""Convert the literals of `PARTITION (day = '2026-5-1')` to partition values as they are printed.

By these a plan tells which partitions an overwrite replaces, so they must be exactly the values in Spark.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation

from paimark.core.errors import Refused
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.manifests.binary_row import INTEGERS
from paimark.core.table.manifests.partitions import sql_timestamp
from paimark.core.travel.statements.inserts import NamedColumn
from paimark.core.travel.times.literals import read_date, read_timestamp

_SUFFIX = re.compile(r"(?<=[0-9.])(?:BD|[LSYFD])$", re.IGNORECASE)
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_STARTS_WITH_A_DATE = re.compile(r"\s*[+-]?[0-9]{4}")


def printed(column: NamedColumn, kind: ColumnType) -> str | None:
    """The value of a partition column as `RowTexts` prints it; None for NULL.

    Raises `Refused` if the literal doesn't fit the column's type, or if its value depends on the session.
    """
    if column.unquoted is None:
        return None
    word = re.match(r"DATE|TIMESTAMP|TRUE|FALSE|[+-]?[0-9.]", column.value or "", re.IGNORECASE)
    try:
        return _printed(column.unquoted, word.group().upper() if word else "", kind)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise Refused(
            f"It is not known which partition {column.name} = {column.value} is",
            f"Write the value as {kind.name} has it, a text in quotes.",
        ) from error


def _printed(text: str, word: str, kind: ColumnType) -> str:
    """`word` is the beginning of an unquoted literal. Raises `ValueError` and `InvalidOperation`."""
    if kind.name in INTEGERS:
        number = Decimal(_SUFFIX.sub("", text.strip()))
        return _same(str(int(number)), number)
    if kind.name == "DECIMAL":
        number = Decimal(_SUFFIX.sub("", text.strip()))
        return _same(f"{number:.{kind.decimal[1]}f}", number)
    if kind.name in ("CHAR", "VARCHAR", "STRING"):
        return _as_text(text, word)
    if kind.name == "BOOLEAN" and word in ("", "TRUE", "FALSE"):
        return str((*_TRUE, *_FALSE).index(text.strip().lower()) < len(_TRUE)).lower()
    if kind.name == "DATE" and word in ("", "DATE"):
        return read_date(text).isoformat()
    if kind.name == "TIMESTAMP" and word in ("", "DATE", "TIMESTAMP") and _STARTS_WITH_A_DATE.match(text):
        time = read_timestamp(text, date.min)
        if time.tzinfo is None:
            return sql_timestamp(time.replace(microsecond=0), time.microsecond * 1000, kind.fraction)
    raise ValueError(text)


def _same(text: str, number: Decimal) -> str:
    if Decimal(text) != number:
        raise ValueError(text)
    return text


def _as_text(text: str, word: str) -> str:
    if word in ("TRUE", "FALSE"):
        return word.lower()
    if word == "DATE":
        return read_date(text).isoformat()
    if word and not text.removeprefix("-").isdecimal():
        raise ValueError(text)
    return str(int(text)) if word else text
