"""Files with some of a table's columns, as data evolution writes them, after columns were renamed.

Their manifests name these columns by their old names. pypaimon looks for the current names, so it would take
the values in older files for the newest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.errors import Refused


def require_names_kept(
    table: str, fields: Iterable[Any], written: Iterable[Any], held: Iterable[str]
) -> None:
    """Raises `Refused` naming one of pypaimon's `fields` that has another name in a file of schema `written`.

    `held` are the names of the columns that the file has.
    """
    ids = {field.name: field.id for field in written}
    names = {ids[name]: name for name in held if name in ids}
    for field in fields:
        name = names.get(field.id, field.name)
        if name != field.name:
            raise Refused(
                f"Column {field.name} of {table} was called {name} when values of it were written anew, "
                "which nothing here finds",
                "Leave it out, or read a version from before; a stock engine reads it.",
            )
