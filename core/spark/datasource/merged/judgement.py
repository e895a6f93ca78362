"""Decide which splits are merged in Arrow. pypaimon merges the others row by row.

Tests compare all that is merged so with stock Paimon.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from paimark.core.spark.datasource.field_types import atoms, merged_by
from paimark.core.spark.datasource.merged.folding import INTEGERS
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.kind_signs import is_on, merge_engine

# The keys and versions of so many rows are held in memory, and at most so many bytes of files.
_MOST_ROWS, _MOST_BYTES = 4_000_000, 64 << 20
_TEXTS = frozenset({"CHAR", "VARCHAR", "STRING"})
_BYTES = frozenset({"BINARY", "VARBINARY", "BYTES"})
_TIMES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
# Types in whose order rows are sorted. Versions of Paimon disagree where NaN and -0 come as sequence fields.
_SORTED = frozenset({*INTEGERS, *_TEXTS, *_BYTES, *_TIMES, "DECIMAL", "BOOLEAN"})
_EXTREMES = frozenset({*INTEGERS, *_TEXTS, *_TIMES, "DECIMAL", "FLOAT", "DOUBLE"})
_VALUES = _SORTED | _EXTREMES | {"TIME"}
_FINEST = 6
_CHOICES = ("last_value", "first_value", "last_non_null_value", "first_non_null_value")
_KINDS = {
    **dict.fromkeys(("max", "min"), _EXTREMES),
    "sum": frozenset({*INTEGERS, "DOUBLE"}),
}
_FUNCTION = ".aggregate-function"
_UNMERGED = ("deletion-vectors.enabled", "sequence.snapshot-ordering", "data-evolution.enabled")


def functions(table: Any, columns: Collection[str]) -> dict[str, str] | None:
    """The function of each column of pypaimon's `table`; None if rows can't be merged in Arrow."""
    options: Mapping[str, str] = table.table_schema.options
    engine = merge_engine(options)
    if not table.primary_keys or engine not in ("partial-update", "aggregation"):
        return None
    if any(is_on(options, name) for name in _UNMERGED) or any(_is_other(name, engine) for name in options):
        return None
    if any(f"fields.{name}{_FUNCTION}" in options for name in merged_by(table)):
        return None
    fields = {field.name: field for field in table.fields}
    if not all(_is_of(fields[name], _SORTED) for name in merged_by(table) - {""}):
        return None
    chosen = {name: _function(table, engine, name) for name in columns}
    is_merged = all(_is_folded(fields[name], chosen[name], engine, table.primary_keys) for name in columns)
    return chosen if is_merged else None


def is_small(split: Any) -> bool:
    """Whether a split has only data files, without deletion vectors, that fit into memory."""
    if type(split).__name__ != "DataSplit" or getattr(split, "is_streaming", False):
        return False
    if split.raw_convertible or any(split.data_deletion_files or ()):
        return False
    rows, size = (sum(getattr(file, name) for file in split.files) for name in ("row_count", "file_size"))
    return bool(rows <= _MOST_ROWS and size <= _MOST_BYTES)


def _is_other(option: str, engine: str) -> bool:
    """Whether an option may merge rows in a way that isn't tested."""
    if option.endswith("ignore-delete") or option.startswith(("partial-update.", "aggregation.")):
        return True
    is_function = engine == "aggregation" and option.endswith((_FUNCTION, "default-aggregate-function"))
    return option.startswith("fields.") and not is_function


def _function(table: Any, engine: str, column: str) -> str:
    if column in table.primary_keys:
        return "last_value"
    if engine == "partial-update":
        return "last_non_null_value"
    options = table.table_schema.options
    if column in merged_by(table):
        return "last_value"
    default = options.get("fields.default-aggregate-function") or "last_non_null_value"
    name: str = options.get(f"fields.{column}{_FUNCTION}") or default
    return name


def _is_folded(field: Any, function: str, engine: str, keys: Collection[str]) -> bool:
    # A null in such a column is an error to a partial update.
    if engine == "partial-update" and field.name not in keys and not field.type.nullable:
        return False
    if function in _CHOICES:
        return all(_is_one_of(each, _VALUES) for each in atoms(field.type))
    return _is_of(field, _KINDS.get(function, frozenset()))


def _is_of(field: Any, names: Collection[str]) -> bool:
    return type(field.type).__name__ == "AtomicType" and _is_one_of(field.type.type, names)


def _is_one_of(text: str, names: Collection[str]) -> bool:
    """Whether a type has one of these names; a time of at most microseconds."""
    kind = ColumnType.of(text)
    is_fine = kind.name.startswith("TIMESTAMP") and kind.fraction > _FINEST
    return kind.name in names and not is_fine
