"""Convert a query's columns to those of the target table: by position or by name, and without loss.

Assignments follow Spark's ANSI rules, even if the session has switched them off. In addition, a value that
would be rounded, cut or overflow stops the statement, with the column's name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    StructField,
    StructType,
    VariantType,
)

from paimark.core.errors import StatementFailed
from paimark.core.figures import counted
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.records import SchemaField
from paimark.core.travel.statements.inserts import Insert, NamedColumn

_NESTED = (ArrayType, MapType, StructType, VariantType)
_LENGTH = re.compile(r"(?:VAR)?CHAR\((\d+)\)(?: NOT NULL)?")
_CAST_HINT = "Convert it in the query, with CAST or round(), to say what may be lost."


class ColumnAssignment:
    """A query's columns for those of a table. Raises `StatementFailed` with the position of the error."""

    def __init__(self, session: SparkSession, frame: DataFrame, target: WriteTarget, insert: Insert) -> None:
        self._session = session
        self._insert = insert
        self._name = target.name
        schema = target.table_schema
        self._definitions = {field.name: field for field in schema.fields}
        self._fields = spark_columns(target.scan).fields
        self._partition_keys = schema.partition_keys
        self._static = {self._column_name(each): each for each in insert.static}
        for each in insert.partition or ():
            if self._column_name(each) not in self._partition_keys:
                raise insert.refused(
                    f"{each.name} is no partition column of {self._name}", self._it_has(), each.position
                )
        self._indexes = self._column_indexes(frame.columns)
        # By position: a query may have two columns with one name.
        self._kinds = [field.dataType for field in frame.schema.fields]
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(self._kinds))))

    @property
    def rows(self) -> DataFrame:
        """The rows with the table's columns and types."""
        return self._frame.select(*map(self._expression, self._fields))

    @property
    def partition(self) -> DataFrame:
        """One row with the partition columns that the statement sets, converted like those of the rows."""
        static = [field for field in self._fields if field.name in self._static]
        return self._session.range(1).select(*map(self._expression, static))

    def _expression(self, field: StructField) -> Column:
        """The expression for one column of the table."""
        name = field.name
        static, definition = self._static.get(name), self._definitions[name]
        if static is not None:
            value = sql_functions.expr(static.value or "NULL")
            # Let Spark determine its type.
            kind = self._session.range(1).select(value.alias("v")).schema.fields[0].dataType
            if kind.simpleString() == "string":
                # As in Spark, a string in PARTITION may stand for any type.
                return _not_nulled(name, value, value.try_cast(field.dataType)).alias(name)
            return self._converted(field, definition, value, kind).alias(name)
        index = self._indexes.get(name)
        if index is None:
            return self._default(field, definition).alias(name)
        converted = self._converted(field, definition, sql_functions.col(f"c{index}"), self._kinds[index])
        return converted.alias(name)

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
        names = [field.name for field in self._fields]
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

    def _default(self, field: StructField, definition: SchemaField) -> Column:
        if definition.default_value is not None:
            text = str(definition.default_value)
            if text[:1] == text[-1:] == "'" and len(text) > 1:
                text = text[1:-1]
            value = sql_functions.lit(text)
            return _not_nulled(field.name, value, value.try_cast(field.dataType))
        if isinstance(definition.type, str) and definition.type.endswith(" NOT NULL"):
            raise self._refused(f"Column {field.name} of {self._name} may not be null", "Give it a value.")
        return sql_functions.lit(None).cast(field.dataType)

    def _converted(
        self, field: StructField, definition: SchemaField, value: Column, kind: DataType
    ) -> Column:
        target, name = field.dataType, field.name
        if not self._may_become(kind, target):
            raise self._refused(
                f"Column {name} of {self._name} is {target.simpleString()}, "
                f"and the query gives {kind.simpleString()}",
                _CAST_HINT,
            )
        if isinstance(kind, NullType) or isinstance(target, _NESTED):
            return value.cast(target)
        converted = value
        if kind != target:
            converted = _not_nulled(name, value, value.try_cast(target))
            if isinstance(kind, IntegralType) or not isinstance(target, FloatType | DoubleType):
                converted = _lossless(name, value, value.try_cast(target), kind)
            elif isinstance(kind, DoubleType):
                # A fraction may lose digits, as usual with floats, but not its magnitude.
                converted = _finite(name, value, value.cast(target))
        length = _LENGTH.fullmatch(definition.type) if isinstance(definition.type, str) else None
        if length is None:
            return converted
        fits = _within_length(name, converted, int(length[1]))
        # As Spark does it: 'ab' and 'ab   ' are two values.
        is_padded = str(definition.type).startswith("CHAR")
        return sql_functions.rpad(fits, int(length[1]), " ") if is_padded else fits

    def _may_become(self, kind: DataType, target: DataType) -> bool:
        jvm: Any = self._session._jvm
        casts = jvm.org.apache.spark.sql.catalyst.expressions.Cast
        types = (self._java_type(kind), self._java_type(target))
        # Values inside arrays and structs are not checked, so there only safe conversions are allowed.
        return bool(
            casts.canUpCast(*types) if isinstance(target, _NESTED) else casts.canANSIStoreAssign(*types)
        )

    def _java_type(self, kind: DataType) -> Any:
        return self._session._jsparkSession.parseDataType(kind.json())

    def _it_has(self) -> str:
        return f"It has {', '.join(self._definitions)}."

    def _refused(self, reason: str, hint: str) -> StatementFailed:
        return self._insert.refused(reason, hint, self._insert.query_position)


def _not_nulled(name: str, value: Column, converted: Column) -> Column:
    """An expression that fails, while the rows are read, for a value that has become null."""
    return sql_functions.when(value.isNotNull() & converted.isNull(), _fail(name, value)).otherwise(converted)


def _lossless(name: str, value: Column, converted: Column, kind: DataType) -> Column:
    """An expression that fails, while the rows are read, for a value that differs when converted back."""
    is_lossy = ~converted.try_cast(kind).eqNullSafe(value)
    return sql_functions.when(is_lossy, _fail(name, value)).otherwise(converted)


def _finite(name: str, value: Column, converted: Column) -> Column:
    """An expression that fails, while the rows are read, for a number that has become infinite."""
    infinity = sql_functions.lit(float("inf"))
    overflows = (sql_functions.abs(converted) == infinity) & (sql_functions.abs(value) != infinity)
    return sql_functions.when(overflows, _fail(name, value)).otherwise(converted)


def _within_length(name: str, value: Column, length: int) -> Column:
    too_long = sql_functions.char_length(value) > length
    return sql_functions.when(too_long, _fail(name, value)).otherwise(value)


def _fail(name: str, value: Column) -> Column:
    text = sql_functions.substring(value.cast("string"), 1, 60)
    return sql_functions.raise_error(
        sql_functions.concat(
            sql_functions.lit(f"Column {name} can't hold "), text, sql_functions.lit(" as it is")
        )
    )
