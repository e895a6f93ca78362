"""Times before 1677 and after 2262, which pyarrow silently reads as other times.

It counts nanoseconds in 64 bits: for ORC files, and for 96-bit times in Parquet files, which stock Paimon
writes for more than six digits, and Hive always. ORC footers give the bounds of times; Parquet columns are
read one more time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimark.core.errors import Corrupt, Refused
from paimark.core.spark.datasource.field_types import atoms, file_format, merged_by, written_fields
from paimark.core.spark.datasource.unlike.int96 import far_columns, names_of_int96
from paimark.core.spark.datasource.unlike.orc_footer import time_bounds
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.stored_columns import KEY_PREFIX

# The most milliseconds that fit into 64 bits as nanoseconds, less one second, because bounds are rounded.
_MOST_MS = (1 << 63) // 1_000_000 - 1_000
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
# Paimon's writers use 64 bits for times of at most so many digits.
_MOST_DIGITS = 6
# Their names of files, after a prefix. Files that a table took over have other names.
_UUID_AND_NUMBER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+\..*", re.DOTALL)

# The default prefixes, by the option that sets the prefix.
_PREFIXES = {"data-file.prefix": "data-", "changelog-file.prefix": "changelog-"}


def require_near_times(name: str, table: Any, columns: Collection[str], splits: Iterable[Any]) -> None:
    """Raises `Refused` naming one of the `columns`, or a column by which rows are merged, with such a time.

    `table` is pypaimon's. Files without columns of times are not read. Raises `Corrupt`.
    """
    for split in splits:
        needed = set(columns)
        if not split.raw_convertible:
            needed |= merged_by(table)
        for file in split.files:
            with_times = _columns_with_times(table, file, needed)
            if with_times and (column := next(_far(table, file, with_times), None)) is not None:
                raise Refused(
                    f"Column {column} of {name} holds times before 1677 or after 2262 in "
                    f"{file_format(file.file_name)} files, which would be read as other times here",
                    "Leave it out; a stock engine reads it.",
                )


def _columns_with_times(table: Any, file: Any, needed: Collection[str]) -> dict[str, str]:
    """The wanted columns that may hold such times: names in the table by names in the file."""
    if file_format(file.file_name) not in _READERS:
        return {}
    names = {field.id: field.name for field in table.fields if field.name in needed}
    fields = written_fields(table, file.schema_id)
    with_times = (field for field in fields if field.id in names and _may_be_far(table, file, field.type))
    return {field.name: names[field.id] for field in with_times}


def _may_be_far(table: Any, file: Any, kind: Any) -> bool:
    digits = [each.fraction for each in map(ColumnType.of, atoms(kind)) if each.name in _TIMES]
    if file_format(file.file_name) == "orc" or not _is_written_by_paimon(table, file.file_name):
        return bool(digits)
    return max(digits, default=0) > _MOST_DIGITS


def _is_written_by_paimon(table: Any, name: str) -> bool:
    prefixes = [table.table_schema.options.get(option, usual) for option, usual in _PREFIXES.items()]
    behind = (name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix))
    return any(map(_UUID_AND_NUMBER.fullmatch, behind))


def _far(table: Any, file: Any, columns: Mapping[str, str]) -> Iterator[str]:
    """Yield the names in the table of the columns with such times. Raises `Corrupt`."""
    read = _READERS[file_format(file.file_name)]
    try:
        with table.file_io.new_input_stream(file.file_path) as source:
            for stored in read(source, file.file_size, columns):
                if name := _name(stored, columns):
                    yield name
    except (ValueError, pa.ArrowException) as error:
        raise Corrupt(f"{file.file_name} can't be read ({error})", "See `paimark verify`.") from error


def _name(stored: str, columns: Mapping[str, str]) -> str | None:
    return columns.get(stored) or columns.get(stored.removeprefix(KEY_PREFIX))


def _far_in_orc(source: Any, size: int, columns: Mapping[str, str]) -> Iterator[str]:
    for stored, bounds in time_bounds(source, size).items():
        is_near = all(
            low is not None and high is not None and low >= -_MOST_MS and high <= _MOST_MS
            for low, high in bounds
        )
        if not is_near:
            yield stored


def _far_in_parquet(source: Any, size: int, columns: Mapping[str, str]) -> Iterator[str]:
    metadata = pq.read_metadata(source)
    stored_names = [stored for stored in names_of_int96(metadata) if _name(stored, columns)]
    yield from far_columns(source, metadata, stored_names) if stored_names else ()


_READERS = {"orc": _far_in_orc, "parquet": _far_in_parquet}
