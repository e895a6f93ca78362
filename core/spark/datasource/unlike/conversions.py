"""Values of older files that pypaimon converts to the current type of their column unlike stock Paimon.

It doesn't check whether a time fits into 64 bits as nanoseconds: 9999-12-31 would become a day of 1816. It
converts a DECIMAL to a DOUBLE that is not the nearest one. pyarrow parses texts that stock Paimon refuses.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.read.reader import data_file_batch_reader

# In these years all nanoseconds fit into 64 bits.
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_YEAR = r"^(?P<year>[0-9]{4})-"
# The texts that pyarrow and stock Paimon parse to the same value.
_WHOLE = r"^[+-]?[0-9]+$"
_FRACTION = r"^([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?)?$"


@cache
def convert_as_stock() -> None:
    """Make pypaimon convert as stock Paimon, or raise `pa.ArrowInvalid`, in this process. Idempotent."""
    usual = data_file_batch_reader.cast_array_for_schema_evolution

    def converted(values: Any, kind: Any) -> Any:
        if pa.types.is_string(values.type):
            _require_read(values, kind)
        elif pa.types.is_timestamp(kind) and kind.unit == "ns":
            return values.cast(kind, safe=True)
        elif pa.types.is_decimal(values.type) and pa.types.is_float64(kind):
            # Via text, because pyarrow parses a text to the nearest number.
            return values.cast(pa.string()).cast(kind)
        return usual(values, kind)

    data_file_batch_reader.cast_array_for_schema_evolution = converted


def _require_read(texts: Any, kind: Any) -> None:
    """Raises `pa.ArrowInvalid` for a text that stock Paimon parses differently as this type, or refuses."""
    pattern = _pattern(kind)
    if pattern is None:
        return
    strange = texts.filter(pc.invert(pc.match_substring_regex(texts, pattern)))
    if len(strange):
        raise pa.ArrowInvalid(f"{strange[0].as_py()!r} is no {kind} to stock Paimon")
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        years = pc.struct_field(pc.extract_regex(texts, _YEAR), "year").cast(pa.int64())
        far = texts.filter(pc.or_(pc.less(years, _FIRST_YEAR), pc.greater(years, _LAST_YEAR)))
        if len(far):
            raise pa.ArrowInvalid(f"{far[0].as_py()!r} is out of the bounds of {kind}")


def _pattern(kind: Any) -> str | None:
    if pa.types.is_integer(kind):
        return _WHOLE
    if pa.types.is_floating(kind):
        return _FRACTION
    return _TIME if pa.types.is_timestamp(kind) else None
