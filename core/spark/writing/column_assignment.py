"""Name the columns of an INSERT's query: by their places or by their names, with the partition that it sets.

Java's `SourceRows` then makes the table's types of them, by Spark's own rules and without loss.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import StructField

from paimark.core.errors import StatementFailed
from paimark.core.figures import counted
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.travel.statements.inserts import Insert, NamedColumn


class ColumnAssignment:
    """A query's columns for those of a table. Raises `StatementFailed` with the position of the error."""

    def __init__(self, session: SparkSession, frame: DataFrame, target: WriteTarget, insert: Insert) -> None:
        self._session = session
        self._insert = insert
        self._name = target.name
        schema = target.table_schema
        self._definitions = {field.name: field for field in schema.fields}
        self._fields = spark_columns(target.scan).fields
        self._static = {self._column_name(each): each for each in insert.static}
        for each in insert.partition or ():
            if self._column_name(each) not in schema.partition_keys:
                raise insert.refused(
                    f"{each.name} is no partition column of {self._name}", self._it_has(), each.position
                )
        self._indexes = self._column_indexes(frame.columns)
        for name, definition in self._definitions.items():
            is_left_out = name not in self._static and name not in self._indexes
            if is_left_out and definition.default_value is None and _is_never_null(definition.type):
                raise self._refused(f"Column {name} of {self._name} may not be null", "Give it a value.")
        # By position: a query may have two columns with one name.
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(frame.columns))))

    @property
    def rows(self) -> DataFrame:
        """The rows with those of the table's columns that get values, in its order, not yet of its types."""
        given = {name: sql_functions.col(f"c{index}").alias(name) for name, index in self._indexes.items()}
        given |= {field.name: self._set(field) for field in self._fields if field.name in self._static}
        return self._frame.select(*(given[name] for name in self._definitions if name in given))

    @property
    def partition(self) -> DataFrame:
        """One row with the partition columns that the statement sets, of the table's types."""
        static = [field for field in self._fields if field.name in self._static]
        return self._session.range(1).select(*map(self._set, static))

    def _set(self, field: StructField) -> Column:
        """The value that PARTITION gives. As in Spark, a text may stand for any type."""
        value = sql_functions.expr(self._static[field.name].value or "NULL")
        converted = value.try_cast(field.dataType)
        told = sql_functions.lit(f"Column {field.name} can't hold ")
        failed = sql_functions.raise_error(
            sql_functions.concat(told, value.cast("string"), sql_functions.lit(" as it is"))
        )
        is_lost = value.isNotNull() & converted.isNull()
        return sql_functions.when(is_lost, failed).otherwise(converted).alias(field.name)

    def _column_indexes(self, query_columns: Sequence[str]) -> dict[str, int]:
        """The index of the query's column for each column of the table."""
        insert = self._insert
        if insert.by_name:
            indexes: dict[str, int] = {}
            for index, each in enumerate(query_columns):
                name = self._column_name(NamedColumn(each, insert.query_position))
                if name in indexes:
                    raise self._refused(f"The query gives {name} twice", "Leave one of them out.")
                indexes[name] = index
            return indexes
        names = list(self._definitions)
        if insert.columns is not None:
            names = [self._column_name(each) for each in insert.columns]
        names = [name for name in names if name not in self._static]
        if len(names) != len(query_columns):
            raise self._refused(
                f"The query gives {counted(len(query_columns), 'column')}, and "
                f"{counted(len(names), 'column')} of {self._name} "
                f"{'is' if len(names) == 1 else 'are'} to be filled",
                f"They are {', '.join(names)}.",
            )
        return {name: index for index, name in enumerate(names)}

    def _column_name(self, named: NamedColumn) -> str:
        for name in self._definitions:
            if name.lower() == named.name.lower():
                return name
        raise self._insert.refused(f"{self._name} has no column {named.name}", self._it_has(), named.position)

    def _it_has(self) -> str:
        return f"It has {', '.join(self._definitions)}."

    def _refused(self, reason: str, hint: str) -> StatementFailed:
        return self._insert.refused(reason, hint, self._insert.query_position)


def _is_never_null(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(" NOT NULL")
