"""Find what a query over Connect needs of each table, from the server's optimised plan on stand-ins.

Connect gives only the text of a plan. So each column of a stand-in is an expression that Spark can't fold,
with a unique mark in it: a column whose mark is not in the optimised plan is not needed. If a mark occurs for
another reason, for example in a literal of the query, only more is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import StructField

from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.engine.tables import OpenedTable
from paimark.core.spark.native.needs import ViewNeeds

# Settings by which no text of a plan is cut off.
UNCUT = {
    "spark.sql.debug.maxToStringFields": str((1 << 31) - 1),
    "spark.sql.maxPlanStringLength": str((1 << 31) - 16),
}
# The signs of a text that is cut off or redacted in spite of that.
_INCOMPLETE = re.compile(r"\.\.\. \d+ more |\(redacted\)|truncated")
# More rows than any table has, so that Spark doesn't plan differently for few rows.
_ROWS = 1 << 60


def needed(spark: SparkSession, sql: str, named: Mapping[str, OpenedTable]) -> dict[str, ViewNeeds]:
    """The needs by the tables' names in `sql`; without the tables of which everything is read.

    Leaves stand-ins under these names. Raises Spark's errors.
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
    """An expression of that type, always null, that seems to depend on the row."""
    nothing = sql_functions.array(sql_functions.lit(None).cast(field.dataType))
    text = sql_functions.concat(sql_functions.lit(mark), sql_functions.col("id").cast("string"))
    return sql_functions.element_at(nothing, sql_functions.length(text)).alias(field.name)


def _columns(text: str, place: int, fields: list[StructField]) -> set[str]:
    return {each.name for number, each in enumerate(fields) if _mark(place, number) in text}


def _is_once(text: str, place: int) -> bool:
    """Whether the table occurs once in the optimised plan; only then may conditions be pushed down to it."""
    return text.count(f"Range ({place}, {_ROWS + place}, step=1, splits=Some(") == 1


def _mark(place: int, number: int) -> str:
    return f"paimark_{place}_column_{number}_"
