"""What a query over Connect needs of each table: asked of the server's optimiser, on stand-ins without rows.

Of a plan there is only its text to be had. So each column of a stand-in is an expression that Spark can't
work out beforehand, with a mark of its own in it: what the optimised plan does not mention is not needed. A
mark that is there for another reason, as in a literal of the query, only has more read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import StructField

from core.spark.datasource.types import spark_columns
from core.spark.engine.tables import OpenedTable
from core.spark.native.needs import ViewNeeds

# So that no text is cut short.
UNCUT = {
    "spark.sql.debug.maxToStringFields": str((1 << 31) - 1),
    "spark.sql.maxPlanStringLength": str((1 << 31) - 16),
}
# Cut short or blackened all the same, a text says nothing of what it leaves out.
_INCOMPLETE = re.compile(r"\.\.\. \d+ more |\(redacted\)|truncated")
# More rows than any table has: nothing is planned otherwise because there are few.
_ROWS = 1 << 60


def needed(spark: SparkSession, sql: str, named: Mapping[str, OpenedTable]) -> dict[str, ViewNeeds]:
    """By the names that `sql` has for them; without those of which all is read.

    Leaves stand-ins under these names. Raises what Spark says of the query.
    """
    fields: dict[str, list[StructField]] = {}
    for place, (name, table) in enumerate(named.items()):
        if table.scan is not None:
            fields[name] = spark_columns(table.scan).fields
            _stand_in(spark, place, fields[name]).createOrReplaceTempView(name)
    if not fields:
        return {}
    planned: Any = spark.sql(sql)
    # The optimised plan and the physical one.
    text: str = planned._explain_string(mode="cost")
    if _INCOMPLETE.search(text):
        return {}
    return {
        name: ViewNeeds(_columns(text, place, fields[name]), again=not _is_once(text, place))
        for place, name in enumerate(named)
        if name in fields
    }


def _stand_in(spark: SparkSession, place: int, fields: list[StructField]) -> DataFrame:
    rows = spark.range(place, _ROWS + place, 1, 1)
    return rows.select(*(_column(_mark(place, number), each) for number, each in enumerate(fields)))


def _column(mark: str, field: StructField) -> Any:
    """A value of that type that depends on the row, as far as anybody can tell."""
    nothing = sql_functions.array(sql_functions.lit(None).cast(field.dataType))
    text = sql_functions.concat(sql_functions.lit(mark), sql_functions.col("id").cast("string"))
    return sql_functions.element_at(nothing, sql_functions.length(text)).alias(field.name)


def _columns(text: str, place: int, fields: list[StructField]) -> set[str]:
    return {each.name for number, each in enumerate(fields) if _mark(place, number) in text}


def _is_once(text: str, place: int) -> bool:
    """Whether the table is in the optimised plan in one place: only then its conditions are all there are."""
    return text.count(f"Range ({place}, {_ROWS + place}, step=1, splits=Some(") == 1


def _mark(place: int, number: int) -> str:
    return f"paimark_{place}_column_{number}_"
