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

from core.errors import StatementFailed
from core.figures import counted
from core.spark.datasource.types import spark_columns
from core.spark.writing.target import WriteTarget
from core.table.records import SchemaField
from core.travel.statements.inserts import Insert, NamedColumn

_NESTED = (ArrayType, MapType, StructType, VariantType)
_LENGTH = re.compile(r"(?:VAR)?CHAR\((\d+)\)(?: NOT NULL)?")
_CAST_HINT = "Convert it in the query, with CAST or round(), to say what may be lost."


class Assigned:
    """A query's columns for those of a table. Raises `StatementFailed` with the position of the error."""

    def __init__(self, session: SparkSession, frame: DataFrame, target: WriteTarget, insert: Insert) -> None:
        self._session = session
        self._insert = insert
        self._name = target.name
        schema = target.table_schema
        self._definitions = {field.name: field for field in schema.fields}
        self._fields = spark_columns(target.scan).fields
        self._partition_keys = schema.partition_keys
        self._static = {self._known(each): each for each in insert.static}
        for each in insert.partition or ():
            if self._known(each) not in self._partition_keys:
                raise insert.refused(
                    f"{each.name} is no partition column of {self._name}", self._it_has(), each.position
                )
        self._given = self._places(frame.columns)
        # By position: a query may have two columns with one name.
        self._kinds = [field.dataType for field in frame.schema.fields]
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(self._kinds))))

    @property
    def rows(self) -> DataFrame:
        """The rows with the table's columns and types."""
        return self._frame.select(*map(self._made, self._fields))

    @property
    def partition(self) -> DataFrame:
        """One row with the partition columns that the statement sets, converted like those of the rows."""
        static = [field for field in self._fields if field.name in self._static]
        return self._session.range(1).select(*map(self._made, static))

    def _made(self, field: StructField) -> Column:
        """The expression for one column of the table."""
        name = field.name
        static, definition = self._static.get(name), self._definitions[name]
        if static is not None:
            value = sql_functions.expr(static.value or "NULL")
            # Let Spark determine its type.
            kind = self._session.range(1).select(value.alias("v")).schema.fields[0].dataType
            if kind.simpleString() == "string":
                # As in Spark, a string in PARTITION may stand for any type.
                return _checked(name, value, value.try_cast(field.dataType)).alias(name)
            return self._converted(field, definition, value, kind).alias(name)
        index = self._given.get(name)
        if index is None:
            return self._left_out(field, definition).alias(name)
        converted = self._converted(field, definition, sql_functions.col(f"c{index}"), self._kinds[index])
        return converted.alias(name)

    def _places(self, given: Sequence[str]) -> dict[str, int]:
        """The index of the query's column for each column of the table."""
        insert = self._insert
        if insert.by_name:
            indexes: dict[str, int] = {}
            for index, each in enumerate(given):
                name = self._known(NamedColumn(each, insert.query_position))
                if name in indexes:
                    raise self._refused(f"The query gives {name} twice", "Leave one of them out.")
                indexes[name] = index
            return indexes
        names = [field.name for field in self._fields]
        if insert.columns is not None:
            names = [self._known(each) for each in insert.columns]
        names = [name for name in names if name not in self._static]
        if len(names) != len(given):
            raise self._refused(
                f"The query gives {counted(len(given), 'column')}, and {counted(len(names), 'column')} of "
                f"{self._name} {'is' if len(names) == 1 else 'are'} to be filled",
                f"They are {', '.join(names)}.",
            )
        return {name: index for index, name in enumerate(names)}

    def _known(self, named: NamedColumn) -> str:
        for name in self._definitions:
            if name.lower() == named.name.lower():
                return name
        raise self._insert.refused(f"{self._name} has no column {named.name}", self._it_has(), named.position)

    def _left_out(self, field: StructField, definition: SchemaField) -> Column:
        if definition.default_value is not None:
            text = str(definition.default_value)
            if text[:1] == text[-1:] == "'" and len(text) > 1:
                text = text[1:-1]
            value = sql_functions.lit(text)
            return _checked(field.name, value, value.try_cast(field.dataType))
        if isinstance(definition.type, str) and definition.type.endswith(" NOT NULL"):
            raise self._refused(f"Column {field.name} of {self._name} may not be null", "Give it a value.")
        return sql_functions.lit(None).cast(field.dataType)

    def _converted(
        self, field: StructField, definition: SchemaField, value: Column, kind: DataType
    ) -> Column:
        wanted, name = field.dataType, field.name
        if not self._may_become(kind, wanted):
            raise self._refused(
                f"Column {name} of {self._name} is {wanted.simpleString()}, "
                f"and the query gives {kind.simpleString()}",
                _CAST_HINT,
            )
        if isinstance(kind, NullType) or isinstance(wanted, _NESTED):
            return value.cast(wanted)
        made = value
        if kind != wanted:
            made = _checked(name, value, value.try_cast(wanted))
            if isinstance(kind, IntegralType) or not isinstance(wanted, FloatType | DoubleType):
                made = _kept(name, value, value.try_cast(wanted), kind)
            elif isinstance(kind, DoubleType):
                # A fraction may lose digits, as usual with floats, but not its magnitude.
                made = _finite(name, value, value.cast(wanted))
        length = _LENGTH.fullmatch(definition.type) if isinstance(definition.type, str) else None
        return made if length is None else _short(name, made, int(length[1]))

    def _may_become(self, kind: DataType, wanted: DataType) -> bool:
        jvm: Any = self._session._jvm
        casts = jvm.org.apache.spark.sql.catalyst.expressions.Cast
        types = (self._java_type(kind), self._java_type(wanted))
        # Values inside arrays and structs are not checked, so there only safe conversions are allowed.
        return bool(
            casts.canUpCast(*types) if isinstance(wanted, _NESTED) else casts.canANSIStoreAssign(*types)
        )

    def _java_type(self, kind: DataType) -> Any:
        return self._session._jsparkSession.parseDataType(kind.json())

    def _it_has(self) -> str:
        return f"It has {', '.join(self._definitions)}."

    def _refused(self, reason: str, hint: str) -> StatementFailed:
        return self._insert.refused(reason, hint, self._insert.query_position)


def _checked(name: str, value: Column, made: Column) -> Column:
    """An expression that fails, while the rows are read, for a value that has become null."""
    return sql_functions.when(value.isNotNull() & made.isNull(), _fails(name, value)).otherwise(made)


def _kept(name: str, value: Column, made: Column, kind: DataType) -> Column:
    """An expression that fails, while the rows are read, for a value that differs when converted back."""
    return sql_functions.when(~made.try_cast(kind).eqNullSafe(value), _fails(name, value)).otherwise(made)


def _finite(name: str, value: Column, made: Column) -> Column:
    """An expression that fails, while the rows are read, for a number that has become infinite."""
    infinity = sql_functions.lit(float("inf"))
    overflows = (sql_functions.abs(made) == infinity) & (sql_functions.abs(value) != infinity)
    return sql_functions.when(overflows, _fails(name, value)).otherwise(made)


def _short(name: str, value: Column, length: int) -> Column:
    too_long = sql_functions.char_length(value) > length
    return sql_functions.when(too_long, _fails(name, value)).otherwise(value)


def _fails(name: str, value: Column) -> Column:
    shown = sql_functions.substring(value.cast("string"), 1, 60)
    return sql_functions.raise_error(
        sql_functions.concat(
            sql_functions.lit(f"Column {name} can't hold "), shown, sql_functions.lit(" as it is")
        )
    )
