"""Refuse ORC files that may hold dates before the Gregorian calendar.

Spark assumes that such dates in ORC are in the Julian calendar, in which it writes them itself, and shifts
them by days. Paimon's writers use the Gregorian calendar for all dates.
"""

from __future__ import annotations

from datetime import date

from pyspark.sql.types import DateType, StructType

from paimark.core.spark.native.columns import NotNative
from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.state import TableState

_GREGORIAN = (date(1582, 10, 15) - date(1970, 1, 1)).days


def require_no_old_dates(state: TableState, types: StructType, pruner: Pruner) -> None:
    """Raises `NotNative` unless statistics rule out such dates. Nested dates are refused by `columns`."""
    may_be_old = {
        index: pruner.keeps([Condition(field.name, "<", (_GREGORIAN,))])
        for index, field in enumerate(types.fields)
        if isinstance(field.dataType, DateType)
    }
    for file in state.files:
        if file.file_format != "orc":
            continue
        columns = state.columns[file.schema_id, file.file_format]
        for index, may_hold in may_be_old.items():
            name = types.fields[index].name
            if columns.origins[index] in columns.read.names and may_hold(file):
                raise NotNative(f"column {name} may hold dates before 1582-10-15 in orc files")
