"""Make one value of the versions of a key, for all keys at once.

Each function is a choice among the values, so that it is exact for every type, but for sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paimark.core.spark.datasource.merged.versions import Versions
from paimark.core.spark.sort_keys import SortKey, is_text, ranked, sort_keys_of, text_values
from paimark.core.table.definition.column_types import ColumnType

INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "INTEGER": 32, "BIGINT": 64}
_Indexes = NDArray[np.intp]
# 64-bit integers, or fractions.
_Numbers = NDArray[Any]


def fold(values: pa.ChunkedArray, kind: str, function: str, versions: Versions) -> pa.ChunkedArray:
    """The value of each key. `values` are those of the rows in `versions`; `kind` is Paimon's text.

    Raises `ArithmeticError` for a sum that its type does not hold.
    """
    if function == "sum":
        return _sums(values, ColumnType.of(kind).name, versions)
    return values.take(_CHOICES[function](values, kind, versions))


def _last(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    return pa.array(versions.order[versions.ends])


def _first(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    return pa.array(versions.order[versions.starts])


def _last_not_null(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    indexes = np.where(_valid(values)[versions.order], np.arange(len(versions.order)), -1)
    return _rows_at(np.maximum.reduceat(indexes, versions.starts), versions)


def _first_not_null(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    end = len(versions.order)
    indexes = np.minimum.reduceat(
        np.where(_valid(values)[versions.order], np.arange(end), end), versions.starts
    )
    return _rows_at(np.where(indexes == end, -1, indexes), versions)


def _greatest(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    return _extreme(values, kind, versions, versions.ends)


def _least(values: pa.ChunkedArray, kind: str, versions: Versions) -> pa.Array:
    # Nulls sort first: the least value follows them.
    nulls = np.add.reduceat((~_valid(values))[versions.order].astype(np.intp), versions.starts)
    return _extreme(values, kind, versions, np.minimum(versions.starts + nulls, versions.ends))


_CHOICES: dict[str, Callable[[pa.ChunkedArray, str, Versions], pa.Array]] = {
    "last_value": _last,
    "first_value": _first,
    "last_non_null_value": _last_not_null,
    "first_non_null_value": _first_not_null,
    "max": _greatest,
    "min": _least,
}


def _valid(values: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(values.is_valid())


def _rows_at(indexes: _Indexes, versions: Versions) -> pa.Array:
    """The rows at these places; null for -1."""
    return pa.array(versions.order[indexes], mask=indexes < 0)


def _extreme(values: pa.ChunkedArray, kind: str, versions: Versions, indexes: _Indexes) -> pa.Array:
    keys: list[SortKey] = ranked(text_values(values)) if is_text(kind) else sort_keys_of(values, kind)
    group = np.empty(len(versions.order), dtype=np.int64)
    group[versions.order] = np.repeat(np.arange(len(versions.starts)), versions.sizes)
    return pa.array(np.lexsort([*reversed(keys), group])[indexes])


def _sums(values: pa.ChunkedArray, name: str, versions: Versions) -> pa.ChunkedArray:
    """Add from the oldest to the newest, because fractions are rounded each time."""
    wide = pa.int64() if name in INTEGERS else pa.float64()
    numbers, valid = np.asarray(values.cast(wide).fill_null(0)), _valid(values)
    total = np.zeros(len(versions.starts), dtype=numbers.dtype)
    has_value = np.zeros(len(versions.starts), dtype=np.bool_)
    keys, number = np.arange(len(versions.starts)), 0
    while len(keys):
        rows = versions.order[versions.starts[keys] + number]
        keys_there, rows = keys[valid[rows]], rows[valid[rows]]
        before, added = total[keys_there], numbers[rows]
        after = np.where(has_value[keys_there], _added(before, added), added)
        _require_no_overflow(before, added, after, has_value[keys_there], name)
        total[keys_there], has_value[keys_there] = after, True
        number += 1
        keys = keys[versions.sizes[keys] > number]
    return pa.chunked_array([pa.array(total, mask=~has_value).cast(values.type)])


def _added(before: _Numbers, added: _Numbers) -> _Numbers:
    with np.errstate(over="ignore", invalid="ignore"):
        return before + added


def _require_no_overflow(
    before: _Numbers, added: _Numbers, after: _Numbers, has_value: NDArray[np.bool_], name: str
) -> None:
    """Raises `ArithmeticError` if an integer is out of the bounds of its type."""
    if name not in INTEGERS:
        return
    most = (1 << (INTEGERS[name] - 1)) - 1
    # If 64 bits overflow, the sum has another sign than both of its parts.
    wraps = has_value & (((before ^ after) & (added ^ after)) < 0)
    beyond = np.flatnonzero(wraps | (after > most) | (after < -most - 1))
    if len(beyond):
        total = int(before[beyond[0]]) + int(added[beyond[0]])
        raise ArithmeticError(f"{total} is out of the bounds of {name}")
