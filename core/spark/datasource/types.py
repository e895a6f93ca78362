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
    words = _WORDS.fullmatch(text)
    if words is None:
        raise _unknown(column, text)
    name, first, second, local = words.groups()
    if name == "CHAR" and with_chars:
        return CharType(int(first or 1))
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
