"""Times before 1677 and after 2262 in ORC files, of which pyarrow makes others without a word.

It counts nanoseconds in 64 bits there. The files' footers say which times there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from core.errors import Corrupt, Refused
from core.spark.datasource.field_types import atoms
from core.spark.datasource.unlike.orc_footer import time_bounds
from core.table.definition.column_types import ColumnType
from core.table.definition.stored_columns import KEY_PREFIX

# As many milliseconds as 64 bits hold in nanoseconds, less the last second: bounds are rounded.
_MOST_MS = (1 << 63) // 1_000_000 - 1_000


def require_near_times(name: str, table: Any, columns: Collection[str], splits: Iterable[Any]) -> None:
    """Raises `Refused` naming one of the `columns`, or of those that rows are merged by, with such a time.

    `table` is pypaimon's. Of files without such columns nothing is read. Raises `Corrupt`.
    """
    for split in splits:
        wanted = set(columns)
        if not split.raw_convertible:
            in_order = table.table_schema.options.get("sequence.field", "").split(",")
            wanted |= {*table.primary_keys, *map(str.strip, in_order)}
        for file in split.files:
            held = _held(table, file, wanted)
            if held and (column := next(_far(table, file, held), None)) is not None:
                raise Refused(
                    f"Column {column} of {name} holds times before 1677 or after 2262 in ORC files, "
                    "of which others would come out here",
                    "Leave it out; a stock engine reads it.",
                )


def _held(table: Any, file: Any, wanted: Collection[str]) -> dict[str, str]:
    """Names of the wanted columns by their names in the file, where these hold times."""
    if not file.file_name.lower().endswith(".orc"):
        return {}
    names = {field.id: field.name for field in table.fields if field.name in wanted}
    is_now = file.schema_id == table.table_schema.id
    written = table.table_schema if is_now else table.schema_manager.get_schema(file.schema_id)
    # Of one that is missing pypaimon says so itself.
    fields = [] if written is None else written.fields
    held = (field for field in fields if field.id in names and any(map(_is_time, atoms(field.type))))
    return {field.name: names[field.id] for field in held}


def _is_time(text: str) -> bool:
    return ColumnType.of(text).name in ("TIMESTAMP", "TIMESTAMP_LTZ")


def _far(table: Any, file: Any, held: dict[str, str]) -> Iterator[str]:
    """The names, in the table, of the columns with such times."""
    try:
        with table.file_io.new_input_stream(file.file_path) as source:
            found = time_bounds(source, file.file_size)
    except ValueError as error:
        raise Corrupt(f"{file.file_name} can't be read ({error})", "See `paimark verify`.") from error
    for stored, bounds in found.items():
        name = held.get(stored) or held.get(stored.removeprefix(KEY_PREFIX))
        is_near = all(
            low is not None and high is not None and low >= -_MOST_MS and high <= _MOST_MS
            for low, high in bounds
        )
        if name is not None and not is_near:
            yield name
