"""Convert Paimon's column types to Spark's.

For Spark every column is nullable, as with its own file sources, so that no plan relies on a NOT NULL that
files may violate. Times are cut off to microseconds.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
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
from paimark.core.spark.datasource.scan import Scan

_PLAIN: dict[str, DataType] = {
    "BOOLEAN": BooleanType(),
    "TINYINT": ByteType(),
    "SMALLINT": ShortType(),
    "INT": IntegerType(),
    "INTEGER": IntegerType(),
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
_WORDS = re.compile(r"([A-Z_]+)(?:\((\d+)(?:,\s*(\d+))?\))?( WITH LOCAL TIME ZONE)?")


def spark_columns(scan: Scan) -> StructType:
    from paimark.core.spark.datasource.paimon import open_table

    return spark_schema(open_table(scan).fields)


def spark_schema(fields: Any) -> StructType:
    """The columns of a table from pypaimon's `DataField`s.

    Raises `StatementFailed` naming a column whose type Spark doesn't have.
    """
    return StructType([StructField(field.name, _spark_type(field.name, field.type)) for field in fields])


def _spark_type(column: str, kind: Any) -> DataType:
    # pypaimon's classes are distinguished by name: importing them here would cost every Spark worker 0.5 s.
    match type(kind).__name__:
        case "AtomicType":
            return _atomic(column, kind.type.upper())
        case "ArrayType" | "VectorType":
            return ArrayType(_spark_type(column, kind.element))
        case "MapType":
            return MapType(_spark_type(column, kind.key), _spark_type(column, kind.value))
        case "RowType":
            return StructType(
                [StructField(each.name, _spark_type(column, each.type)) for each in kind.fields]
            )
    raise _unknown(column, kind)


def _atomic(column: str, text: str) -> DataType:
    words = _WORDS.fullmatch(text)
    if words is None:
        raise _unknown(column, text)
    name, first, second, local = words.groups()
    if name in _PLAIN:
        return _PLAIN[name]
    match name:
        case "DECIMAL":
            return DecimalType(int(first or 10), int(second or 0))
        case "TIMESTAMP" if not local:
            return TimestampNTZType()
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return TimestampType()
        case "TIME":
            return TimeType(min(int(first or 0), 6))
    raise _unknown(column, text)


def _unknown(column: str, kind: object) -> StatementFailed:
    return StatementFailed(
        f"Column {column} has the type {kind}, which Spark has no equivalent of",
        "Read the table's other columns with `paimark` or another engine.",
    )
