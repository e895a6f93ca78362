"""Conditions that only one row can satisfy: each column of a primary key equal to one value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    StringType,
    StructType,
)

from core.spark.native.columns import quoted
from core.spark.native.conditions import Condition


def one_key(primary_keys: Sequence[str], types: StructType, conditions: Iterable[Condition]) -> Column | None:
    """That a row has the one key that the conditions leave; None where they leave more, or who knows."""
    values = {each.column: each.values[0] for each in conditions if each.operator == "="}
    tests = []
    for name in primary_keys:
        kind = types[name].dataType
        literal = _literal(kind, values.get(name))
        if literal is None:
            return None
        tests.append(sql_functions.col(quoted(name)) == literal)
    return reduce(and_, tests) if tests else None


def _literal(kind: DataType, value: Any) -> Column | None:
    if value is None:
        return None
    if isinstance(kind, DateType):
        # Python's years of fewer than four digits do not come through.
        return sql_functions.date_from_unix_date(sql_functions.lit(value))
    if isinstance(kind, IntegralType | StringType | DecimalType | BooleanType):
        return sql_functions.lit(value)
    return None
