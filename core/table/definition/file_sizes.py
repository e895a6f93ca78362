"""How large the data files of a table are to be, by its options; the word for what they hold."""

from __future__ import annotations

import re

from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.records import TableSchema

_MIB = 1 << 20
# Paimon's defaults: with a primary key, and without.
_KEYED, _APPENDED = 128 * _MIB, 256 * _MIB
_UNITS = {"": 1, "b": 1, "bytes": 1}
_UNITS |= {unit: 1 << 10 * power for power, name in enumerate("kmgt", 1) for unit in (name, f"{name}b")}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)")


def small_below(schema: TableSchema) -> int:
    """Bytes below which a file is small: compaction takes files under 70 % of the target size."""
    return target_size(schema) // 10 * 7


def target_size(schema: TableSchema) -> int:
    """The bytes at which a writer begins another file."""
    default = _KEYED if schema.primary_keys else _APPENDED
    return _bytes_of(schema.options.get("target-file-size", ""), default)


def _bytes_of(text: str, default: int) -> int:
    found = _SIZE.fullmatch(text.strip().lower())
    unit = None if found is None else _UNITS.get(found[2])
    return default if found is None or unit is None else int(found[1]) * unit


def unit_of(schema: TableSchema | None) -> str:
    """`record` where metadata may count several for one row: with a key, by which rows are merged when they
    are read, and where rows lie in parts, a file for each (data evolution, so with BLOB columns). Else
    `row`.

    `record` as well if the schema is not known, because that is right for every table.
    """
    if schema is None or schema.primary_keys or is_on(schema.options, "data-evolution.enabled"):
        return "record"
    return "row"
