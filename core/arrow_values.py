"""Values of Arrow columns as Python values, even if Python has no type for them. Imports no pyarrow.

A year beyond 9999 or before 1, or a text with bytes that are not UTF-8, must not stop a program that only
shows them.
"""

from __future__ import annotations

from typing import Any

from core.text import distinct

# pyarrow's errors for a time, a duration or a text that Python can't hold.
_NOT_PYTHONS = (OverflowError, ValueError)


def column_values(column: Any) -> list[Any]:
    """The values of a column (pyarrow's Array or ChunkedArray), each as `cell_value` returns it."""
    try:
        values: list[Any] = column.to_pylist()
    except _NOT_PYTHONS:
        return [cell_value(cell) for cell in column]
    return values


def cell_value(cell: Any) -> Any:
    """The value of a pyarrow Scalar; if Python can't hold it, a text such as `10000-01-01`.

    The parts of a list, map or struct are converted likewise, one by one.
    """
    try:
        return cell.as_py()
    except _NOT_PYTHONS:
        pass
    if hasattr(cell, "as_buffer"):
        return cell.as_buffer().to_pybytes().decode("utf-8", "replace")
    if hasattr(cell, "values") and hasattr(cell.type, "key_field"):
        # pyarrow itself returns a map in this form.
        return [(cell_value(pair[0]), cell_value(pair[1])) for pair in cell.values]
    if hasattr(cell, "items"):
        # By index: the later of two parts with the same name gets a number after its name.
        names = distinct([part.name for part in cell.type])
        return {name: cell_value(cell[place]) for place, name in enumerate(names)}
    if hasattr(cell, "values"):
        return [cell_value(part) for part in cell.values]
    return cell.cast("string").as_py()
