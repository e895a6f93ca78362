"""Translate a statement's conditions to those that are pushed to pypaimon.

Spark applies every condition again to the returned rows, so pypaimon must only never drop a row that Spark
would keep. Left out are: floating-point columns (for Spark NaN equals NaN and is greater than all numbers),
timestamps (a literal depends on the session), decimals of more than 28 digits (pyspark rounds such a literal,
by Python's decimal context), some days of 1582, CHAR (ORC pads it with spaces), conditions inside nested
columns, negations.
In a table with a primary key only conditions on key and partition columns are pushed: others hold only after
merging. A column whose type was changed has no conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from paimark.core.spark.datasource.paimon import PypaimonCondition

_COMPARISONS: dict[type[Filter], str] = {
    EqualTo: "equal",
    GreaterThan: "greater_than",
    GreaterThanOrEqual: "greater_or_equal",
    LessThan: "less_than",
    LessThanOrEqual: "less_or_equal",
}
_NULL_TESTS: dict[type[Filter], str] = {IsNull: "is_null", IsNotNull: "is_not_null"}
_EXACT = re.compile(
    r"(BOOLEAN|TINYINT|SMALLINT|INT|INTEGER|BIGINT|DATE|DECIMAL\((\d|1\d|2[0-8]),.*\)|STRING|VARCHAR)"
    r"(\(\d+\))?( NOT NULL)?"
)
_TEXT = re.compile(r"(STRING|VARCHAR)(\(.*\))?( NOT NULL)?")
# Days that the change of calendars skipped arrive here as other days in this range.
_UNSURE = date(1582, 10, 5), date(1582, 10, 25)


def conditions(filters: Iterable[Filter], columns: Mapping[str, str]) -> list[PypaimonCondition]:
    """Conditions for pypaimon, all of which must hold. `columns` are the allowed ones, with Paimon types."""
    translated = (_condition(each, columns) for each in filters)
    return [each for each in translated if each is not None]


def _condition(each: Filter, columns: Mapping[str, str]) -> PypaimonCondition | None:
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    column = path[0]
    kind = columns[column]
    if method := _NULL_TESTS.get(type(each)):
        return PypaimonCondition(method, column)
    if not _EXACT.fullmatch(kind):
        return None
    if isinstance(each, In):
        values = tuple(value for value in each.value if value is not None)
        if any(map(_is_unsure, values)):
            return None
        # Nothing is IN a list of nulls; Spark applies that itself.
        return PypaimonCondition("is_in", column, (list(values),)) if values else None
    if isinstance(each, StringStartsWith):
        return PypaimonCondition("startswith", column, (each.value,)) if _TEXT.fullmatch(kind) else None
    method = _COMPARISONS.get(type(each))
    value = getattr(each, "value", None)
    if not method or value is None or _is_unsure(value):
        return None
    return PypaimonCondition(method, column, (value,))


def _is_unsure(value: object) -> bool:
    return isinstance(value, date) and _UNSURE[0] <= value <= _UNSURE[1]
