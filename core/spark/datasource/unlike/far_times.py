"""Times before 1677 and after 2262, of which pyarrow makes others without a word.

It counts nanoseconds in 64 bits in ORC files, and in Parquet files where a time has 96 bits: stock Paimon
writes those of more than six digits so, and Hive all. Footers of ORC say which times there are; of Parquet
files the columns are read once more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import Corrupt, Refused
from core.spark.datasource.field_types import atoms, merged_by, written_fields
from core.spark.datasource.unlike.int96 import far_columns, names_of_int96
from core.spark.datasource.unlike.orc_footer import time_bounds
from core.table.definition.column_types import ColumnType
from core.table.definition.stored_columns import KEY_PREFIX

# As many milliseconds as 64 bits hold in nanoseconds, less the last second: bounds are rounded.
_MOST_MS = (1 << 63) // 1_000_000 - 1_000
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
# Paimon's writers have 64 bits for times of no more digits.
_MOST_DIGITS = 6
# What they call files, behind a prefix. Files that a table took over have kept other names.
_UUID_AND_NUMBER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+\..*", re.DOTALL)

# By the option that sets it.
_PREFIXES = {"data-file.prefix": "data-", "changelog-file.prefix": "changelog-"}


def require_near_times(name: str, table: Any, columns: Collection[str], splits: Iterable[Any]) -> None:
    """Raises `Refused` naming one of the `columns`, or of those that rows are merged by, with such a time.

    `table` is pypaimon's. Of files without such columns nothing is read. Raises `Corrupt`.
    """
    for split in splits:
        wanted = set(columns)
        if not split.raw_convertible:
            wanted |= merged_by(table)
        for file in split.files:
            held = _held(table, file, wanted)
            if held and (column := next(_far(table, file, held), None)) is not None:
                raise Refused(
                    f"Column {column} of {name} holds times before 1677 or after 2262 in "
                    f"{_format(file)} files, of which others would come out here",
                    "Leave it out; a stock engine reads it.",
                )


def _format(file: Any) -> str:
    return str(file.file_name.rpartition(".")[2].lower())


def _held(table: Any, file: Any, wanted: Collection[str]) -> dict[str, str]:
    """Names of the wanted columns by their names in the file, where these may hold such times."""
    if _format(file) not in _READERS:
        return {}
    names = {field.id: field.name for field in table.fields if field.name in wanted}
    fields = written_fields(table, file.schema_id)
    held = (field for field in fields if field.id in names and _may_be_far(table, file, field.type))
    return {field.name: names[field.id] for field in held}


def _may_be_far(table: Any, file: Any, kind: Any) -> bool:
    digits = [each.fraction for each in map(ColumnType.of, atoms(kind)) if each.name in _TIMES]
    if _format(file) == "orc" or not _is_written_by_paimon(table, file.file_name):
        return bool(digits)
    return max(digits, default=0) > _MOST_DIGITS


def _is_written_by_paimon(table: Any, name: str) -> bool:
    prefixes = [table.table_schema.options.get(option, usual) for option, usual in _PREFIXES.items()]
    behind = (name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix))
    return any(map(_UUID_AND_NUMBER.fullmatch, behind))


def _far(table: Any, file: Any, held: Mapping[str, str]) -> Iterator[str]:
    """The names, in the table, of the columns with such times."""
    read = _READERS[_format(file)]
    try:
        with table.file_io.new_input_stream(file.file_path) as source:
            for stored in read(source, file.file_size, held):
                if name := _name(stored, held):
                    yield name
    except (ValueError, pa.ArrowException) as error:
        raise Corrupt(f"{file.file_name} can't be read ({error})", "See `paimark verify`.") from error


def _name(stored: str, held: Mapping[str, str]) -> str | None:
    return held.get(stored) or held.get(stored.removeprefix(KEY_PREFIX))


def _far_in_orc(source: Any, size: int, held: Mapping[str, str]) -> Iterator[str]:
    for stored, bounds in time_bounds(source, size).items():
        is_near = all(
            low is not None and high is not None and low >= -_MOST_MS and high <= _MOST_MS
            for low, high in bounds
        )
        if not is_near:
            yield stored


def _far_in_parquet(source: Any, size: int, held: Mapping[str, str]) -> Iterator[str]:
    metadata = pq.read_metadata(source)
    asked = [stored for stored in names_of_int96(metadata) if _name(stored, held)]
    yield from far_columns(source, metadata, asked) if asked else ()


_READERS = {"orc": _far_in_orc, "parquet": _far_in_parquet}
