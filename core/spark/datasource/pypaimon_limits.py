"""What pypaimon reads otherwise than Paimon, or not at all: refused by name. Paimon's library reads it.

The columns' types, the table's options and the names of files decide. No file is opened to see whether a
value in it would be read rightly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from typing import Any

from paimark.core.errors import Refused
from paimark.core.spark.datasource.field_types import (
    atoms,
    file_format,
    is_wider,
    merged_by,
    shape,
    type_name,
    type_words,
    written_fields,
)
from paimark.core.table.definition.column_types import FRACTIONS, TIMES, ColumnType
from paimark.core.table.definition.kind_signs import (
    ignored_deletes,
    is_on,
    merge_engine,
    partition_without_path,
)
from paimark.core.table.definition.newer import format_hint
from paimark.core.table.definition.newer import of_format as newer_format
from paimark.core.table.manifests.joined_changelogs import is_joined
from paimark.core.table.records import TableSchema

LOST_FILE = (
    "An expiry or a clean-up took it. Run it again, for the versions of then; `paimark verify` says whether "
    "a version that is left lost it."
)
ELSEWHERE = (
    "It may not be lost: its writer named the directory of the partition, by its Java or in its time zone. "
    "Start Paimark in the same zone (TZ=Asia/Shanghai)."
)
_BY_LIBRARY = "read it with Paimon's own library (`paimark jars fetch paimon`, then SQL)."
_HINT = f"Leave it out, or {_BY_LIBRARY}"
# Paimon's writers use 64 bits for times of at most so many digits, and 96 for finer ones.
_MOST_DIGITS = 6
# The names that they give to files, after a prefix. Files that a table took over have other names.
_UUID_AND_NUMBER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+\..*", re.DOTALL)
# The default prefixes, by the option that sets the prefix.
_PREFIXES = {"data-file.prefix": "data-", "changelog-file.prefix": "changelog-"}
# Of files in these formats no rows are lost if they have none of the columns.
_COUNTED = ("parquet", "orc")
_READ = (*_COUNTED, "avro", "blob", "row", "video")
# A package of the same name reads them for pypaimon.
_BY_PACKAGE = ("lance", "mosaic", "vortex")
_BY_JAVA = ("csv", "json", "text")
# pyarrow's messages for a null VECTOR in a Parquet file, and for an ORC file, which does not say that a field
# inside a column is never null.
_NULL_VECTOR = "Expected all lists to be of size"
_REQUIRED = "cannot cast nullable field to non-nullable field"


def require_alike(name: str, table: Any, columns: Collection[str], splits: Collection[Any]) -> None:
    """Raises `Refused` naming one of the `columns`, or what else pypaimon reads otherwise than Paimon.

    `table` is pypaimon's. Rows are also merged by other columns than these.
    """
    _require_own_files(name, splits)
    _require_known_formats(name, splits)
    _require_no_ignored_deletes(name, table, splits)
    is_merged = not all(split.raw_convertible for split in splits)
    needed = {*columns, *(merged_by(table) if is_merged else ())}
    fields = [field for field in table.fields if field.name in needed]
    options = table.table_schema.options
    if is_merged and merge_engine(options) == "aggregation":
        for field in fields:
            if field.name not in table.primary_keys:
                _require_ordered_alike(name, field, options)
    shapes = _shapes(table.fields)
    for schema_id, of_format, is_paimons in _forms(table, splits):
        written = written_fields(table, schema_id)
        in_files = {field.id: field.type for field in written}
        if is_on(options, "data-evolution.enabled") and _shapes(written) != shapes:
            raise Refused(
                f"{name} has data-evolution.enabled, and its columns were changed since files were written",
                f"Read a version from before the change, or {_BY_LIBRARY}",
            )
        for field in fields:
            if field.id in in_files:
                _require_read_alike(name, field, in_files[field.id], of_format, is_paimons)


def column_to_count(name: str, table: Any, columns: Collection[str], splits: Collection[Any]) -> list[str]:
    """A column to read only because rows would be lost without it; empty if none would.

    Of a file that has none of the selected columns, pypaimon returns rows only in some formats. Raises
    `Refused` if no column is in all such files.
    """
    stored = [field for field in table.fields if field.name not in table.partition_keys]
    selected = {field.id for field in stored if field.name in columns}
    evolves = is_on(table.table_schema.options, "data-evolution.enabled")
    there = [
        {field.id for field in written_fields(table, schema_id)}
        for schema_id, of_format, _ in _forms(table, splits)
        if evolves or of_format not in _COUNTED
    ]
    if all(selected & ids for ids in there):
        return []
    oldest = next((field.name for field in stored if all(field.id in ids for ids in there)), None)
    if oldest is None:
        raise Refused(f"{name} has files in which no column is that it has now", f"Else {_BY_LIBRARY}")
    return [oldest]


def refuse_unread(name: str, fields: Iterable[Any], error: Exception) -> None:
    """Raises `Refused` if `error` is pyarrow's for values of the `fields` that it can't read."""
    if _REQUIRED in str(error):
        told = "has fields inside a column that are never null, which ORC files don't tell"
        raise Refused(f"{name} {told}", f"Python can't read them: {_BY_LIBRARY}") from error
    vectors = [field.name for field in fields if type(field.type).__name__ == "VectorType"]
    if vectors and _NULL_VECTOR in str(error):
        told = f"A value of {' or '.join(vectors)} of {name} is null"
        raise Refused(f"{told}, which Python does not read of a VECTOR in Parquet files", _HINT) from error


def refuse_elsewhere(name: str, schema: TableSchema, error: FileNotFoundError) -> None:
    """Raises `Refused` if the file may be there, in a directory that its writer named in a way of its own.

    Java's name for bytes differs each time, pypaimon writes NaN differently, and a moment is named in the
    writer's time zone.
    """
    if sign := partition_without_path(schema):
        raise Refused(
            f"A file of {name} is not in the directory in which this reader looks for it, as {sign}: {error}",
            ELSEWHERE,
        ) from error


def _require_own_files(name: str, splits: Iterable[Any]) -> None:
    """Raises `Refused` for changes of several buckets in one file: pypaimon looks for one in each bucket."""
    if any(is_joined(file.file_name) for split in splits for file in split.files):
        raise Refused(
            f"{name} has changelogs of several buckets in one file (changelog.precommit-compact), which this "
            "version does not read",
            "Read the changes with Flink, or the rows that are there.",
        )


def _require_known_formats(name: str, splits: Iterable[Any]) -> None:
    """Raises `Refused` for files of a format that pypaimon does not read, or not without a package."""
    for form in sorted({file_format(file.file_name) for split in splits for file in split.files}):
        if form in _READ or (form in _BY_PACKAGE and find_spec(form) is not None):
            continue
        raise Refused(
            f"{name} has {form} files{newer_format(form)}, which Python does not read",
            f"Else {_BY_LIBRARY}" if form in _BY_JAVA else format_hint(form),
        )


def _require_no_ignored_deletes(name: str, table: Any, splits: Iterable[Any]) -> None:
    """Raises `Refused` if files hold deletes that must be ignored: pypaimon applies them nevertheless."""
    options = table.table_schema.options
    option = ignored_deletes(options)
    if option is None or not table.primary_keys or merge_engine(options) != "deduplicate":
        return
    # With this option pypaimon writes deletes, and counts none of them.
    is_counted = "rowkind.field" not in options
    if not is_counted or any(file.delete_row_count for split in splits for file in split.files):
        raise Refused(
            f"{name} has the option {option} = true, and its files hold deletes: the "
            "Python source would apply them",
            "A stock engine's full compaction removes them (CALL sys.compact).",
        )


def _require_ordered_alike(name: str, field: Any, options: Any) -> None:
    """Raises `Refused` for the largest or smallest of floating-point numbers.

    In Python NaN is neither less nor greater than a number, and -0.0 equals 0.0; Paimon orders all of them.
    """
    default = options.get("fields.default-aggregate-function")
    function = options.get(f"fields.{field.name}.aggregate-function", default)
    if function in ("max", "min") and type_name(str(field.type)) in FRACTIONS:
        raise Refused(
            f"Column {field.name} of {name} is a {field.type} that is merged by {function}, and Python does "
            "not do that as Paimon does",
            _HINT,
        )


def _require_read_alike(name: str, field: Any, written: Any, of_format: str, is_paimons: bool) -> None:
    """Raises `Refused` for a column of a type that pyarrow or pypaimon reads otherwise from such files."""
    kinds = [ColumnType.of(each) for each in atoms(written)]
    names = {kind.name for kind in kinds}
    if is_orc := of_format == "orc":
        # pyarrow reads no VARIANT in them, and does not tell CHAR's own spaces from those that fill it up.
        unread = names & {"VARIANT", "CHAR"}
        if unread:
            kind = unread.pop()
            raise Refused(
                f"Column {field.name} of {name} is {kind} in ORC files, which Python does not read", _HINT
            )
    if not is_wider(field.type, written):
        raise Refused(
            f"Column {field.name} of {name} was {type_words(written)} and is {type_words(field.type)}: "
            "Python does not convert its values in older files",
            f"Leave it out, read a version from before the change, or {_BY_LIBRARY}",
        )
    digits = max((kind.fraction for kind in kinds if kind.name in TIMES), default=None)
    # pyarrow counts the nanoseconds of these in 64 bits, which end in 1677 and 2262, and reads the times
    # beyond as others. Hive writes 96 bits for all times.
    if digits is not None and (
        is_orc or (of_format == "parquet" and (digits > _MOST_DIGITS or not is_paimons))
    ):
        raise Refused(
            f"Column {field.name} of {name} has times in {of_format} files of which Python misreads those "
            "before 1677 and after 2262",
            _HINT,
        )


def _shapes(fields: Iterable[Any]) -> list[tuple[int, str, object]]:
    return [(field.id, field.name, shape(field.type)) for field in fields]


def _forms(table: Any, splits: Iterable[Any]) -> list[tuple[int, str, bool]]:
    """The schemas and formats of the files, and whether they have names that Paimon gives."""
    files = (file for split in splits for file in split.files)
    forms = {
        (file.schema_id, file_format(file.file_name), _is_paimons(table, file.file_name)) for file in files
    }
    return sorted(forms)


def _is_paimons(table: Any, name: str) -> bool:
    prefixes = [table.table_schema.options.get(option, usual) for option, usual in _PREFIXES.items()]
    behind = (name.removeprefix(prefix) for prefix in prefixes if name.startswith(prefix))
    return any(map(_UUID_AND_NUMBER.fullmatch, behind))
