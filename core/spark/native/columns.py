"""Map the columns of a data file, in the schema that wrote it, to the columns of the table.

Columns are matched by id, not by name; a column that the file lacks is null. The table's type may be wider.
If anything else differs, `NotNative` gives the reason, and Paimon's library reads the table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import ByteType, IntegerType, ShortType, StructField, StructType

from paimark.core.errors import StatementFailed
from paimark.core.spark.datasource.field_types import atoms, is_wider, type_words
from paimark.core.spark.datasource.types import spark_schema
from paimark.core.table.definition.column_types import BYTES, NUMBERS, TEXTS, TIMES, ColumnType

# Spark can't read Paimon's encoding of these types.
_UNREAD = frozenset({"TIME", "VARIANT", "BLOB", "MULTISET", "VECTOR"})
# ORC has types of its own for these: Spark reads times in the machine's zone, and ORC pads texts. For old
# dates see `old_dates`.
_UNREAD_ORC = frozenset({*TIMES, "CHAR"})
# In Avro, Paimon's writers swap the names of times' types, and nested values have names of Paimon's own.
_READ_AVRO = frozenset({*NUMBERS, *TEXTS, *BYTES, "BOOLEAN", "DATE"})
# Avro stores both as int, which Spark doesn't read as either.
_SMALL = (ByteType, ShortType)
# Avro allows no other names, and each writer replaces them in its own way.
_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NotNative(Exception):
    """The reason why Spark's own readers can't read a table, for the line that `EXPLAIN` shows."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """Columns to read from files of one schema, and the source of each column of the table.

    `read` has the columns by their names in the files. `origins` has an entry for each column of the table:
    its name in the files or among the constants, None for nulls.
    """

    read: StructType
    origins: tuple[str | None, ...]


def file_columns(
    table: Sequence[Any], in_files: Sequence[Any], constants: Mapping[str, str], file_format: str
) -> FileColumns:
    """`table` and `in_files` are pypaimon's fields. `constants` maps columns that are not read from files to
    the names of constants. Raises `NotNative`.
    """
    _require_distinct([field.name for field in in_files])
    if file_format == "orc" and all(field.name.startswith("_col") for field in in_files):
        raise NotNative("Spark goes by the places of columns in orc files that are all called like _col0")
    by_id = {field.id: field for field in in_files}
    origins: list[str | None] = []
    read = []
    for field in table:
        if field.name in constants:
            origins.append(constants[field.name])
            continue
        in_file = by_id.get(field.id)
        origins.append(None if in_file is None else in_file.name)
        if in_file is not None:
            _check(field, in_file, file_format)
            read.append(in_file)
    return FileColumns(as_stored(table_types(read), file_format), tuple(origins))


def as_stored(types: StructType, file_format: str) -> StructType:
    """The types with which Spark reads the columns from files, before a cast to the table's types."""
    if file_format != "avro":
        return types
    return StructType(
        [
            StructField(each.name, IntegerType() if isinstance(each.dataType, _SMALL) else each.dataType)
            for each in types.fields
        ]
    )


def table_types(fields: Sequence[Any]) -> StructType:
    """The Spark types of pypaimon's fields. Raises `NotNative` for a type that Spark doesn't have."""
    _require_distinct([field.name for field in fields])
    try:
        return spark_schema(fields)
    except StatementFailed as error:
        raise NotNative(error.message) from error


def _require_distinct(names: Collection[str]) -> None:
    if len({name.lower() for name in names}) < len(names):
        raise NotNative("columns differ by upper and lower case only")


def _check(column: Any, in_file: Any, file_format: str) -> None:
    """Raises `NotNative` unless Spark can read the column, and casts it as Paimon does."""
    is_nested = type(in_file.type).__name__ != "AtomicType"
    for each in atoms(in_file.type):
        kind = ColumnType.of(each)
        is_unread = kind.name in _UNREAD_ORC or (is_nested and kind.name == "DATE")
        if file_format == "avro":
            is_unread = is_nested or kind.name not in _READ_AVRO or not _AVRO_NAME.fullmatch(in_file.name)
        if kind.name in _UNREAD or (file_format != "parquet" and is_unread):
            raise NotNative(f"column {column.name} of type {each} in {file_format} files")
    if not is_wider(column.type, in_file.type):
        raise NotNative(
            f"column {column.name} was {type_words(in_file.type)} and is {type_words(column.type)}"
        )
