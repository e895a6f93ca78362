"""Files with some of a table's columns, as data evolution writes them, after columns were renamed.

Their manifests name these columns by their old names. pypaimon looks for the current names, so it would take
the values in older files for the newest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimark.core.errors import Refused


def require_unrenamed(
    table: str, fields: Iterable[Any], file_schema: Iterable[Any], file_columns: Iterable[str]
) -> None:
    """Raises `Refused` naming one of pypaimon's `fields` that has another name in a file of `file_schema`.

    `file_columns` are the names of the columns that the file has.
    """
    ids = {field.name: field.id for field in file_schema}
    names = {ids[name]: name for name in file_columns if name in ids}
    for field in fields:
        name = names.get(field.id, field.name)
        if name != field.name:
            raise Refused(
                f"Column {field.name} of {table} was called {name} when values of it were written anew, and "
                "no reader here finds these",
                "Leave it out, or read a version from before; a stock engine reads it.",
            )
