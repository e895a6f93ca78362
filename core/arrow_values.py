"""Values of Arrow columns as Python's, those among them that Python has no type for. Imports no pyarrow.

A year beyond 9999 or before 1, or bytes in a text that are not UTF-8, must not end who only shows them.
"""

from __future__ import annotations

from typing import Any

from core.text import distinct

# What pyarrow raises for a time, a duration or a text that Python can't hold.
_NOT_PYTHONS = (OverflowError, ValueError)


def column_values(column: Any) -> list[Any]:
    """Those of a column (pyarrow's Array or ChunkedArray), as `cell_value` has each."""
    try:
        values: list[Any] = column.to_pylist()
    except _NOT_PYTHONS:
        return [cell_value(cell) for cell in column]
    return values


def cell_value(cell: Any) -> Any:
    """That of a pyarrow Scalar; where Python can't hold it, a text, such as `10000-01-01`.

    Parts of a list, map or struct likewise, one by one.
    """
    try:
        return cell.as_py()
    except _NOT_PYTHONS:
        pass
    if hasattr(cell, "as_buffer"):
        return cell.as_buffer().to_pybytes().decode("utf-8", "replace")
    if hasattr(cell, "values") and hasattr(cell.type, "key_field"):
        # As pyarrow itself hands out a map.
        return [(cell_value(pair[0]), cell_value(pair[1])) for pair in cell.values]
    if hasattr(cell, "items"):
        # By place: of two parts called alike the later one has a number behind it.
        names = distinct([part.name for part in cell.type])
        return {name: cell_value(cell[place]) for place, name in enumerate(names)}
    if hasattr(cell, "values"):
        return [cell_value(part) for part in cell.values]
    return cell.cast("string").as_py()
