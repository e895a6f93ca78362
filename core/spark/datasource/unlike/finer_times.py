"""Older values that become times of more than six digits, which pyarrow counts in nanoseconds.

pypaimon converts them without a look whether 64 bits hold them: 9999-12-31 would become a day of 1816.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.read.reader import data_file_batch_reader

# In between 64 bits hold all nanoseconds.
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_YEAR = r"^\s*(?P<year>[+-]?\d+)-"


@cache
def keep_times_near() -> None:
    """In this process, for all tables: a conversion raises `pa.ArrowInvalid` instead."""
    usual = data_file_batch_reader.cast_array_for_schema_evolution

    def converted(values: Any, kind: Any) -> Any:
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            _require_near(values, kind)
        return usual(values, kind)

    data_file_batch_reader.cast_array_for_schema_evolution = converted


def _require_near(values: Any, kind: Any) -> None:
    if not pa.types.is_string(values.type):
        values.cast(kind, safe=True)
        return
    # Of texts pyarrow does not look even so.
    years = pc.struct_field(pc.extract_regex(values, _YEAR), "year").cast(pa.int64())
    bounds = pc.min_max(years).as_py()
    if bounds["min"] is not None and not _FIRST_YEAR <= bounds["min"] <= bounds["max"] <= _LAST_YEAR:
        raise pa.ArrowInvalid("Casting from string to timestamp[ns] would result in out of bounds timestamp")
