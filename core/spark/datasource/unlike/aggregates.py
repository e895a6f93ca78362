"""Aggregate functions that differ between pypaimon and stock Paimon.

In Python NaN is neither less nor greater than a number, and -0.0 equals 0.0; stock Paimon orders all of them.
pypaimon's `listagg` leaves out blank texts, stock Paimon's only empty ones. `aggregate_as_stock` replaces
these functions of pypaimon's. Others make nested values in another order or with other nulls: a column that
they would merge is refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from pypaimon.common.options.core_options import CoreOptions
from pypaimon.read.reader.aggregate import register_aggregator
from pypaimon.read.reader.aggregate.aggregators import (
    NAME_LISTAGG,
    NAME_MAX,
    NAME_MIN,
    FieldListaggAgg,
    FieldMaxAgg,
    FieldMinAgg,
)

from paimark.core.errors import Refused
from paimark.core.spark.datasource.field_types import type_name
from paimark.core.table.definition.kind_signs import is_on, merge_engine

_FRACTIONS = ("FLOAT", "DOUBLE")
_UNLIKE = (
    *("nested_update", "nested_partial_update", "merge_map_with_keytime"),
    *("theta_sketch", "hll_sketch", "rbm32"),
)
# Functions that differ only with `distinct`.
_UNLIKE_DISTINCT = ("listagg", "collect")


@cache
def aggregate_as_stock() -> None:
    """Replace the functions in this process, for all tables. Idempotent."""
    register_aggregator(
        NAME_MAX, lambda kind, name, options: _extreme(FieldMaxAgg, _Greatest, NAME_MAX, kind)
    )
    register_aggregator(NAME_MIN, lambda kind, name, options: _extreme(FieldMinAgg, _Least, NAME_MIN, kind))
    register_aggregator(NAME_LISTAGG, _listed)


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
        if field.name in keys or function not in (_UNLIKE_DISTINCT if is_distinct else ()) + _UNLIKE:
            continue
        merge = f"distinct {function}" if is_distinct else function
        raise Refused(
            f"Column {field.name} of {table} has rows to merge by {merge}, and no reader here does that as "
            "stock Paimon does",
            "Leave it out; a stock engine's full compaction merges rows for good (CALL sys.compact).",
        )


def _extreme(usual: type, of_fractions: type, name: str, kind: Any) -> Any:
    return (of_fractions if type_name(str(kind)) in _FRACTIONS else usual)(name, kind)


class _Greatest(FieldMaxAgg):  # type: ignore[misc]
    def agg(self, accumulator: Any, input_field: Any) -> Any:
        if accumulator is None or input_field is None:
            return accumulator if input_field is None else input_field
        return input_field if _order(accumulator) < _order(input_field) else accumulator


class _Least(FieldMinAgg):  # type: ignore[misc]
    def agg(self, accumulator: Any, input_field: Any) -> Any:
        if accumulator is None or input_field is None:
            return accumulator if input_field is None else input_field
        return accumulator if _order(accumulator) < _order(input_field) else input_field


def _order(value: float) -> tuple[bool, float, float]:
    """A sort key in Java's order: -0.0 before 0.0, NaN after all numbers."""
    return math.isnan(value), value, math.copysign(1, value)


def _listed(kind: Any, name: str, options: CoreOptions) -> Any:
    return _Listed(NAME_LISTAGG, kind, name, options)


class _Listed(FieldListaggAgg):  # type: ignore[misc]
    def agg(self, accumulator: Any, input_field: Any) -> Any:
        if accumulator is None or input_field is None:
            return accumulator if input_field is None else input_field
        if not accumulator or not input_field:
            return accumulator or input_field
        return f"{accumulator}{self.delimiter}{input_field}"
