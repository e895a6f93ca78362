"""Columns whose type was changed, while files with the older type are still read.

pypaimon converts such values by Arrow's rules, stock Paimon by its own. If the two differ, the column is
refused by name. Conditions on such a column are not pushed to pypaimon: statistics, buckets and dictionaries
of older files have values of the older type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from paimark.core.errors import Refused
from paimark.core.table.definition.column_types import ColumnType

# The most digits of each type.
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_FAMILIES = {
    **dict.fromkeys((*_DIGITS, "INTEGER"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "fraction"),
    **dict.fromkeys(("CHAR", "VARCHAR", "STRING"), "text"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES"), "bytes"),
    "NUMERIC": "DECIMAL",
}
# Pairs of families that Arrow converts as Paimon does, or fails to convert, for all lengths.
_ALIKE = frozenset(
    {
        ("integer", "integer"),
        ("integer", "fraction"),
        ("integer", "BOOLEAN"),
        ("BOOLEAN", "integer"),
        ("BOOLEAN", "fraction"),
        ("fraction", "fraction"),
        ("DECIMAL", "integer"),
        ("DECIMAL", "DECIMAL"),
        ("text", "BOOLEAN"),
        ("text", "DATE"),
    }
)
# ORC pads CHAR with spaces, and stores all times in nanoseconds.
_UNLIKE_ORC = ("CHAR", "TIMESTAMP", "TIMESTAMP_LTZ")
# The most digits of a second that Arrow has years enough for.
_FINEST = 6
_DATE_LENGTH, _SECONDS_LENGTH, _FALSE_LENGTH = 10, 19, 5
# Arrow writes some decimals with a greater scale with an exponent.
_MOST_PLAIN_DECIMALS = 6


def converts_alike(old: ColumnType, new: ColumnType, *, is_orc: bool = False) -> bool:
    """Whether pypaimon converts every value of `old` to the same value of `new` as stock Paimon, or fails."""
    if old == new:
        return True
    pair = _family(old), _family(new)
    if is_orc and old.name in _UNLIKE_ORC and (old.name == "CHAR" or pair[1] == "text"):
        return False
    if pair in _ALIKE:
        return True
    if pair[1].startswith("TIMESTAMP") and new.fraction > _FINEST:
        # Arrow's nanoseconds end in 2262, and pypaimon does not look.
        return False
    match pair:
        case "DATE", "TIMESTAMP":
            return True
        case "integer", "DECIMAL":
            digits, scale = new.decimal
            return digits - scale >= _DIGITS[_integer(old)]
        case _, "text":
            longest = _longest_text(old)
            return longest is not None and longest <= _room(new)
        case "bytes" | "text", "bytes":
            return new.name != "BINARY" and (_room(old) if pair[0] == "bytes" else math.inf) <= _room(new)
        case ("TIMESTAMP", "TIMESTAMP") | ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ"):
            return old.fraction <= new.fraction
    return False


def columns_of_one_type(fields: Iterable[Any], schemas: Iterable[Any]) -> set[str]:
    """The names of pypaimon's `fields` that have the same type in all `schemas` that contain them."""
    types: dict[int, list[Any]] = {}
    for schema in schemas:
        for field in schema.fields:
            types.setdefault(field.id, []).append(field.type)
    return {
        field.name
        for field in fields
        if all(old == new for other in types.get(field.id, ()) for old, new in _leaves(other, field.type))
    }


def require_convertible(
    table: str, fields: Iterable[Any], file_fields: Sequence[Any], *, is_orc: bool
) -> None:
    """Raises `Refused` naming one of `fields` that can't be converted from `file_fields`, the files' columns.

    `is_orc`: some of the files are ORC files.
    """
    by_id = {field.id: field for field in file_fields}
    for field in fields:
        old = by_id.get(field.id)
        if old is None or all(converts_alike(*pair, is_orc=is_orc) for pair in _leaves(old.type, field.type)):
            continue
        raise Refused(
            f"Column {field.name} of {table} was {type_words(old.type)} and is {type_words(field.type)}: "
            "Python does not convert its values in older files as Paimon does",
            "Leave it out, or read a version from before the change, or all of it with Paimon's own library "
            "(`paimark jars fetch paimon`, then SQL).",
        )


def _family(kind: ColumnType) -> str:
    return _FAMILIES.get(kind.name, kind.name)


def _integer(kind: ColumnType) -> str:
    return "INT" if kind.name == "INTEGER" else kind.name


def _room(kind: ColumnType) -> float:
    """How many characters or bytes fit; -1 for CHAR, which Paimon pads with spaces."""
    if kind.name in ("STRING", "BYTES"):
        return math.inf
    return -1 if kind.name == "CHAR" else kind.first or 1


def _longest_text(kind: ColumnType) -> float | None:
    """The most characters of a value as text; None if Arrow writes some values unlike Paimon."""
    match _family(kind):
        case "integer":
            return _DIGITS[_integer(kind)] + 1
        case "BOOLEAN":
            return _FALSE_LENGTH
        case "DATE":
            return _DATE_LENGTH
        # Arrow writes all digits of its unit, even if the type has fewer.
        case "TIMESTAMP" if kind.fraction in (3, 6):
            return _SECONDS_LENGTH + 1 + kind.fraction
        case "text":
            return math.inf if kind.name == "STRING" else kind.first or 1
        case "bytes":
            return math.inf
        case "DECIMAL" if kind.decimal[1] <= _MOST_PLAIN_DECIMALS:
            # The digits, a sign, a zero and the point.
            return kind.decimal[0] + 3
    return None


def _leaves(old: Any, new: Any) -> Iterator[tuple[ColumnType, ColumnType]]:
    """The pairs of atomic types in two types; a pair of different types where the shapes differ."""
    match type(old).__name__, type(new).__name__:
        case "AtomicType", "AtomicType":
            yield ColumnType.of(old.type), ColumnType.of(new.type)
        case "ArrayType", "ArrayType":
            yield from _leaves(old.element, new.element)
        case "MapType", "MapType":
            yield from _leaves(old.key, new.key)
            yield from _leaves(old.value, new.value)
        case "RowType", "RowType":
            old_types = {field.id: field.type for field in old.fields}
            for field in new.fields:
                if field.id in old_types:
                    yield from _leaves(old_types[field.id], field.type)
        case old_kind, new_kind:
            if old_kind != new_kind or str(old) != str(new):
                yield ColumnType(old_kind, None, None, False), ColumnType(new_kind, 0, None, False)


def type_words(kind: Any) -> str:
    """A type of pypaimon's in Paimon's notation."""
    return str(getattr(kind, "type", kind))
