"""Aggregate functions that differ between pypaimon and stock Paimon.

In Python NaN is neither less nor greater than a number, and -0.0 equals 0.0; stock Paimon orders all of them.
pypaimon's `listagg` leaves out blank texts, stock Paimon's only empty ones. Others make nested values in
another order or with other nulls. A column that they would merge is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from paimark.core.errors import Refused
from paimark.core.spark.datasource.field_types import type_name
from paimark.core.table.definition.kind_signs import is_on, merge_engine

_FRACTIONS = ("FLOAT", "DOUBLE")
_UNLIKE = (
    *("nested_update", "nested_partial_update", "merge_map_with_keytime"),
    *("theta_sketch", "hll_sketch", "rbm32", "listagg"),
)
# A function that differs only with `distinct`, and those that differ only for floating point.
_UNLIKE_DISTINCT = ("collect",)
_UNLIKE_FRACTIONS = ("max", "min")


def require_merged_alike(
    table: str, fields: Iterable[Any], keys: Collection[str], options: Mapping[str, str]
) -> None:
    """Raises `Refused` naming one of pypaimon's `fields` that it merges unlike stock Paimon."""
    if merge_engine(options) != "aggregation":
        return
    default = options.get("fields.default-aggregate-function", "")
    for field in fields:
        function = options.get(f"fields.{field.name}.aggregate-function", default)
        is_distinct = is_on(options, f"fields.{field.name}.distinct")
        unlike = _UNLIKE + (_UNLIKE_DISTINCT if is_distinct else ())
        if type_name(str(field.type)) in _FRACTIONS:
            unlike += _UNLIKE_FRACTIONS
        if field.name in keys or function not in unlike:
            continue
        merge = f"distinct {function}" if is_distinct else function
        raise Refused(
            f"Column {field.name} of {table} has rows to merge by {merge}, and Python does not do that as "
            "Paimon does",
            "Leave it out, or read it with Paimon's own library (`paimark jars fetch paimon`, then SQL).",
        )
