"""Convert Paimon's column types to Spark's.

For Spark every column is nullable, as with its own file sources, so that no plan relies on a NOT NULL that
files may violate. Times are cut off to microseconds.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VariantType,
)

from paimark.core.errors import StatementFailed
from paimark.core.spark.datasource.field_types import fields_of
from paimark.core.spark.datasource.scan import Scan
from paimark.core.table.definition.column_types import ColumnType

_PLAIN: dict[str, DataType] = {
    "BOOLEAN": BooleanType(),
    "TINYINT": ByteType(),
    "SMALLINT": ShortType(),
    "INT": IntegerType(),
    "BIGINT": LongType(),
    "FLOAT": FloatType(),
    "DOUBLE": DoubleType(),
    "STRING": StringType(),
    "CHAR": StringType(),
    "VARCHAR": StringType(),
    "BYTES": BinaryType(),
    "BINARY": BinaryType(),
    "VARBINARY": BinaryType(),
    "BLOB": BinaryType(),
    "DATE": DateType(),
    "VARIANT": VariantType(),
}


def spark_columns(scan: Scan, *, with_chars: bool = False) -> StructType:
    return spark_schema(fields_of(scan.schema), with_chars=with_chars)


def spark_schema(fields: Any, *, with_chars: bool = False) -> StructType:
    """The columns of a table from pypaimon's `DataField`s. `with_chars`: CHAR keeps its length.

    Raises `StatementFailed` naming a column whose type Spark doesn't have.
    """
    types = ((field.name, _spark_type(field.name, field.type, with_chars)) for field in fields)
    return StructType([StructField(name, kind) for name, kind in types])


def _spark_type(column: str, kind: Any, with_chars: bool) -> DataType:
    # pypaimon's classes are distinguished by name: importing them here would cost every Spark worker 0.5 s.
    match type(kind).__name__:
        case "AtomicType":
            return _atomic(column, kind.type.upper(), with_chars)
        case "ArrayType" | "VectorType":
            return ArrayType(_spark_type(column, kind.element, with_chars))
        case "MapType":
            key, value = (_spark_type(column, each, with_chars) for each in (kind.key, kind.value))
            return MapType(key, value)
        case "MultisetType":
            return MapType(_spark_type(column, kind.element, with_chars), IntegerType())
        case "RowType":
            types = ((each.name, _spark_type(column, each.type, with_chars)) for each in kind.fields)
            return StructType([StructField(name, part) for name, part in types])
    raise _unknown(column, kind)


def _atomic(column: str, text: str, with_chars: bool) -> DataType:
    read = ColumnType.of(text)
    if read.name == "CHAR" and with_chars:
        return CharType(read.first or 1)
    if read.name in _PLAIN:
        return _PLAIN[read.name]
    match read.name:
        case "DECIMAL":
            return DecimalType(*read.decimal)
        case "TIMESTAMP":
            return TimestampNTZType()
        case "TIMESTAMP_LTZ":
            return TimestampType()
        case "TIME":
            return TimeType(min(read.first or 0, 6))
    raise _unknown(column, text)


def _unknown(column: str, kind: object) -> StatementFailed:
    return StatementFailed(
        f"Column {column} has the type {kind}, which Spark has no equivalent of",
        "Read the table's other columns with `paimark` or another engine.",
    )
