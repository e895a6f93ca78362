"""Values of Arrow columns as Python values, even if Python has no type for them. Imports no pyarrow.

A year beyond 9999 or before 1, or a text with bytes that are not UTF-8, must not stop a program that only
shows them. A map whose keys are text becomes a dict, any other map a list of pairs: its type decides, because
an empty map has no key to tell. A FLOAT is the shortest number that names it: 1.1, and not 1.100000023841858.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from paimark.core.text import distinct

# pyarrow's errors for a time, a duration or a text that Python can't hold.
_NOT_PYTHONS = (OverflowError, ValueError)
_TEXTS = ("string", "large_string")
_FLOAT = "float"
# So many digits tell all numbers of a FLOAT apart, and the fewest are tried first.
_FEWEST_DIGITS, _MOST_DIGITS = 1, 9

_Convert = Callable[[Any], Any]


def column_values(column: Any) -> list[Any]:
    """The values of a column (pyarrow's Array or ChunkedArray), each as `cell_value` returns it."""
    if str(column.type) == _FLOAT:
        # Arrow writes the shortest number, and this is faster than one by one.
        column = column.cast("string").cast("double")
    try:
        values: list[Any] = column.to_pylist()
    except _NOT_PYTHONS:
        return [cell_value(cell) for cell in column]
    convert = _conversion(column.type)
    return values if convert is None else [convert(value) for value in values]


def cell_value(cell: Any) -> Any:
    """The value of a pyarrow Scalar; if Python can't hold it, a text such as `10000-01-01`.

    The parts of a list, map or struct are converted likewise, one by one.
    """
    try:
        value = cell.as_py()
    except _NOT_PYTHONS:
        return _value_by_parts(cell)
    convert = _conversion(cell.type)
    return value if convert is None else convert(value)


def _value_by_parts(cell: Any) -> Any:
    if hasattr(cell, "as_buffer"):
        return cell.as_buffer().to_pybytes().decode("utf-8", "replace")
    if hasattr(cell, "values") and hasattr(cell.type, "key_field"):
        return _map_value([(cell_value(pair[0]), cell_value(pair[1])) for pair in cell.values], cell.type)
    if hasattr(cell, "items"):
        # By index: the later of two parts with the same name gets a number after its name.
        names = distinct([part.name for part in cell.type])
        return {name: cell_value(cell[place]) for place, name in enumerate(names)}
    if hasattr(cell, "values"):
        return [cell_value(part) for part in cell.values]
    return cell.cast("string").as_py()


def _conversion(kind: Any) -> _Convert | None:
    """The conversion of pyarrow's values of a type; None if it contains no map and no FLOAT."""
    if str(kind) == _FLOAT:
        return _unless_null(shortest)
    if not kind.num_fields:
        return None
    if hasattr(kind, "key_field"):
        item = _conversion(kind.item_type)
        return _unless_null(
            lambda pairs: _map_value([(key, _apply(item, each)) for key, each in pairs], kind)
        )
    parts = {part.name: _conversion(part.type) for part in map(kind.field, range(kind.num_fields))}
    if not any(parts.values()):
        return None
    if hasattr(kind, "value_field"):
        (element,) = parts.values()
        return _unless_null(lambda values: [_apply(element, value) for value in values])
    return _unless_null(lambda row: {name: _apply(parts[name], value) for name, value in row.items()})


def shortest(number: float) -> float:
    """The number with the fewest digits that is the same FLOAT."""
    texts = (f"{number:.{digits}g}" for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1))
    return next((float(text) for text in texts if _is_same(number, float(text))), number)


def _is_same(number: float, other: float) -> bool:
    try:
        return struct.pack("f", number) == struct.pack("f", other)
    except OverflowError:
        # Rounded up, the largest ones are no FLOAT any more.
        return False


def _map_value(pairs: list[tuple[Any, Any]], kind: Any) -> dict[Any, Any] | list[tuple[Any, Any]]:
    return dict(pairs) if str(kind.key_type) in _TEXTS else pairs


def _apply(convert: _Convert | None, value: Any) -> Any:
    return value if convert is None else convert(value)


def _unless_null(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)
