"""A file of edited rows, a JSON object a line, with each value typed by its column.

`{"key": {"id": 42}, "set": {"price": 5.00}}` changes cells, `{"key": ..., "add": {...}}` adds a row, and
`{"key": ..., "delete": true}` takes one away. Null is NULL, and "" an empty text. `"was": {...}` beside it
has cells as they were read: a row with others is in conflict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from paimark.core.errors import UsageError
from paimark.core.table.definition.column_types import (
    FRACTIONS,
    NUMBERS,
    TEXTS,
    TIMES,
    WHOLE,
    ColumnType,
    nullable,
    type_text,
)
from paimark.core.table.names import near_names
from paimark.core.table.records import DECODE_ERRORS, TableSchema
from paimark.core.text import quoted_if_unclear
from paimark.core.travel.times import zone_of
from paimark.core.working_directory import as_text, read_named

# More are no edits by hand, and each key is named in the statement.
MOST_EDITS = 1000
_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_EXACT: Final = (*NUMBERS, *TEXTS, *TIMES, "BOOLEAN", "DATE")
_MICROS = 6
_MOST_FLOAT = 3.4028234663852886e38

# A value of JSON; `Raw` keeps each digit of a number.
_Cells = dict[str, msgspec.Raw]
# A value as text for its column, None for NULL.
Texts = Mapping[str, str | None]


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the file."""

    key: _Cells
    set: _Cells | None = None
    add: _Cells | None = None
    delete: bool = False
    was: _Cells | None = None


@dataclass(frozen=True)
class RowEdit:
    """`word` is set, add or delete; `cells` are by column, those of the key apart, and `was` old ones."""

    key: Texts
    word: str
    cells: Texts
    was: Texts | None = None


def read_edits(path: str, schema: TableSchema) -> list[RowEdit]:
    """Raises `NotFound`, and `UsageError` for what is no edit of a row of the table."""
    found: dict[tuple[str | None, ...], RowEdit] = {}
    for number, line in enumerate(as_text(read_named(path), path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            edit = _row_edit(schema, msgspec.json.decode(line, type=Edit))
        except DECODE_ERRORS as error:
            hint = 'A line is {"key": {"id": 42}, "set": {"price": 5}}, or with "add", or "delete": true.'
            raise UsageError(f"Line {number} of {path} is no edit ({error})", hint) from error
        except UsageError as error:
            raise UsageError(f"Line {number} of {path}: {error.message}", error.hint) from error
        key = tuple(edit.key.values())
        if key in found:
            raise UsageError(f"Line {number} of {path} edits a row for the second time", "Leave one out.")
        found[key] = edit
        if len(found) > MOST_EDITS:
            raise UsageError(f"More than {MOST_EDITS:,} rows are too many edits", "Use UPDATE or MERGE.")
    if not found:
        raise UsageError(f"{path} has no edit", "")
    return [*found.values()]


def cell_text(schema: TableSchema, name: str, text: str | None) -> str | None:
    """A value of a column in one form, None for NULL.

    Raises `UsageError` if it is no value of that column.
    """
    kinds = {field.name: field.type for field in schema.fields}
    if name not in kinds:
        raise UsageError(f"The table has no column {name}", near_names(name, kinds))
    kind = type_text(kinds[name])
    if reason := why_not(kind):
        raise UsageError(f"{name} is {kind}: {reason}", "Write such values by UPDATE.")
    if text is None:
        if name in schema.primary_keys or kind.endswith("NOT NULL"):
            raise UsageError(f"{name} can't be NULL", "")
        return None
    try:
        return _read(ColumnType.of(kind), text)
    except (ValueError, InvalidOperation, ArithmeticError) as error:
        shown = quoted_if_unclear(text[:80])
        raise UsageError(f"{shown} is no value of {name}, which is {nullable(kind)}", "") from error


def why_not(kind: str) -> str:
    """Why values of a type can't be edited; empty if they can."""
    column = ColumnType.of(kind)
    if column.name not in _EXACT or "<" in kind:
        return "its text is not exact"
    is_time = column.name in TIMES
    return "Spark has no nanoseconds" if is_time and column.fraction > _MICROS else ""


def why_no_key(schema: TableSchema) -> str:
    """Why no key of a table can be named; empty if keys can."""
    for field in schema.fields:
        kind = type_text(field.type)
        if field.name in schema.primary_keys and (why_not(kind) or ColumnType.of(kind).name in FRACTIONS):
            return f"{field.name} is {kind}: such a key has no exact text"
    return ""


def spark_type(kind: object) -> str:
    """The name of a type in Spark's SQL."""
    text = str(nullable(type_text(kind)))
    return {"TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP"}.get(ColumnType.of(text).name, text)


def is_local_time(kind: object) -> bool:
    """Whether values of a type are moments, shown in the zone of who reads them."""
    return ColumnType.of(type_text(kind)).name == "TIMESTAMP_LTZ"


def in_zone(text: str, zone: str) -> str:
    """The text of a moment with an offset: one without is of that zone. Others stay as they are.

    Raises `UsageError` for a time that the zone skips, or has twice.
    """
    try:
        local = datetime.fromisoformat(text.strip())
        if local.tzinfo is not None:
            return text
        first, second = (local.replace(tzinfo=zone_of(zone), fold=fold) for fold in (0, 1))
        back = first.astimezone(UTC).astimezone(first.tzinfo)
    except (ValueError, OverflowError):
        return text
    if back.replace(tzinfo=None) != local:
        raise UsageError(f"{zone} has no {text.strip()}: its clocks were put forward then", "")
    if first.utcoffset() != second.utcoffset():
        offsets = " or ".join(map(_offset, (first, second)))
        raise UsageError(f"{zone} has {text.strip()} twice", f"Write {offsets} behind it.")
    return f"{text.strip()}{_offset(first)}"


def _offset(moment: datetime) -> str:
    return moment.isoformat().removeprefix(moment.replace(tzinfo=None).isoformat())


def lines_of(schema: TableSchema, edits: Sequence[RowEdit]) -> tuple[str, ...]:
    """The edits as JSON for Spark, with columns by their places."""
    places = {field.name: f"c{place}" for place, field in enumerate(schema.fields)}

    def placed(cells: Texts) -> dict[str, str | None]:
        return {places[name]: value for name, value in cells.items()}

    made = (
        {"k": placed(each.key), "w": each.word, "m": placed(each.cells)}
        | ({} if each.was is None else {"o": placed(each.was)})
        for each in edits
    )
    return tuple(msgspec.json.encode(each).decode() for each in made)


def _row_edit(schema: TableSchema, edit: Edit) -> RowEdit:
    given = {"set": edit.set, "add": edit.add, "delete": {} if edit.delete else None}
    words = [word for word, cells in given.items() if cells is not None]
    if len(words) != 1:
        raise UsageError(f"It has {' and '.join(words) or 'nothing to do'}", "Write one of set, add, delete.")
    [word] = words
    cells, keys = given[word] or {}, schema.primary_keys
    if edit.was is not None and word == "add":
        raise UsageError("A row that is added was nothing before", "Leave was out.")
    if edit.key.keys() != {*keys}:
        raise UsageError(f"Its key is not of {', '.join(keys)}", "Name each column of the key.")
    if both := [name for name in (*cells, *(edit.was or {})) if name in keys]:
        raise UsageError(f"{both[0]} is in the key", "Another key is another row: delete one, and add one.")
    if word == "set" and not cells:
        raise UsageError("It sets nothing", "Name a column.")
    texts = {name: cell_text(schema, name, _plain(value)) for name, value in cells.items()}
    if word == "add":
        for field in schema.fields:
            if field.name not in (*keys, *texts) and type_text(field.type).endswith("NOT NULL"):
                raise UsageError(f"A new row needs {field.name}", "")
    old = None
    if edit.was is not None:
        old = {name: cell_text(schema, name, _plain(value)) for name, value in edit.was.items()}
    return RowEdit(dict(_key(schema, edit.key)), word, texts, old)


def _key(schema: TableSchema, key: _Cells) -> Iterator[tuple[str, str | None]]:
    if reason := why_no_key(schema):
        raise UsageError(reason, "Use UPDATE.")
    for name in schema.primary_keys:
        yield name, cell_text(schema, name, _plain(key[name]))


def _plain(value: msgspec.Raw) -> str | None:
    text = bytes(value).decode()
    if text[:1] in ("{", "["):
        raise UsageError(f"{text[:80]} is no value of a cell", "")
    return None if text == "null" else msgspec.json.decode(value, type=str) if text[:1] == '"' else text


def _read(column: ColumnType, text: str) -> str:
    """Raises `ValueError` and `ArithmeticError`."""
    if column.name in TEXTS:
        if column.name != "STRING" and len(text) > (column.first or 1):
            raise ValueError(text)
        # As Spark stores it, and compares it.
        return text.ljust(column.first or 1) if column.name == "CHAR" else text
    text = text.strip()
    if column.name in WHOLE:
        number, most = int(text), 1 << (_BITS[column.name] - 1)
        if not re.fullmatch(r"-?\d+", text, re.ASCII) or not -most <= number < most:
            raise ValueError(text)
        return str(number)
    if column.name == "DECIMAL":
        return _decimal(column, Decimal(text))
    if column.name in FRACTIONS:
        if not math.isfinite(value := float(text)) or (column.name == "FLOAT" and abs(value) > _MOST_FLOAT):
            raise ValueError(text)
        return text
    if column.name == "BOOLEAN":
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower()
    if column.name == "DATE":
        return date.fromisoformat(text).isoformat()
    moment, fraction = datetime.fromisoformat(text), re.search(r"\.(\d+)", text)
    if len(fraction[1] if fraction else "") > min(column.fraction, _MICROS):
        raise ValueError(text)
    if column.name == "TIMESTAMP_LTZ":
        if moment.tzinfo is None:
            raise UsageError(f"{text} has no zone", "Write 2026-05-01 12:00:00+02:00.")
        moment = moment.astimezone(UTC)
    elif moment.tzinfo is not None:
        raise ValueError(text)
    return moment.isoformat(" ")


def _decimal(column: ColumnType, value: Decimal) -> str:
    precision, scale = column.decimal
    if not value.is_finite():
        raise ValueError(value)
    whole, _, fraction = f"{abs(value):f}".partition(".")
    if len(fraction.rstrip("0")) > scale or len(whole.lstrip("0")) > precision - scale:
        raise ValueError(value)
    return f"{value:f}"
