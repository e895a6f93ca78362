"""Convert rows that a program writes through the data source to the table's types, without loss.

INSERT converts in the query (`core.spark.writing.assigning`). The data source gets a frame's columns
unconverted, and Arrow's casts round numbers, make them infinite, cut times to dates, drop fields of structs,
and treat a time without a zone as UTC. So only conversions that keep every value are made; for those that may
not, the values are compared.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
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
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimeType,
    VarcharType,
)

from core.errors import Refused
from core.table.definition.column_types import ColumnType
from core.table.records import TableSchema

CAST_HINT = "Convert it in the query, with cast or round, to say what may be lost."
_TEXTS = (StringType, CharType, VarcharType)
_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_FLOATING = (FloatType, DoubleType)
_NUMBERS = (*_WHOLE, *_FLOATING, DecimalType)


def require_types(name: str, given: StructType, columns: StructType) -> None:
    """Raises `Refused` if the type of a row's column can't be written to the table's column of that name."""
    wanted = {each.name: each.dataType for each in columns}
    for each in given:
        kind = wanted.get(each.name)
        if kind is not None and not _may_become(each.dataType, kind):
            raise Refused(
                f"Column {each.name} of {name} is {kind.simpleString()}, and the rows have "
                f"{each.dataType.simpleString()}",
                CAST_HINT,
            )


def _may_become(given: DataType, wanted: DataType, *, is_nested: bool = False) -> bool:
    """Whether a conversion keeps every value, or a loss is detected: only top-level values are checked."""
    if given == wanted or isinstance(given, NullType):
        return True
    match given, wanted:
        case ArrayType(), ArrayType():
            return _may_become(given.elementType, wanted.elementType, is_nested=True)
        case MapType(), MapType():
            return _may_become(given.keyType, wanted.keyType, is_nested=True) and _may_become(
                given.valueType, wanted.valueType, is_nested=True
            )
        case StructType(), StructType():
            kinds = {each.name: each.dataType for each in wanted}
            return all(
                each.name in kinds and _may_become(each.dataType, kinds[each.name], is_nested=True)
                for each in given
            )
    if isinstance(wanted, StringType):
        is_plain = isinstance(given, (*_WHOLE, DecimalType, BooleanType, DateType)) and not is_nested
        return is_plain or isinstance(given, _TEXTS)
    if isinstance(given, _NUMBERS) and isinstance(wanted, _NUMBERS):
        loses = isinstance(given, _FLOATING) and isinstance(wanted, FloatType | DecimalType)
        return not (loses and is_nested)
    if isinstance(given, DateType) and isinstance(wanted, TimestampNTZType):
        return True
    return isinstance(given, TimeType) and isinstance(wanted, TimeType)


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the table's order and types, without others; a missing column is null.

    Raises `Refused` for a value that would have to be rounded or cut.
    """
    have = {name: index for index, name in enumerate(batch.schema.names)}
    columns = []
    for field in schema:
        if field.name in have:
            column = _converted(field, batch.column(have[field.name]))
        else:
            column = pa.nulls(batch.num_rows, field.type)
        if not field.nullable and column.null_count:
            raise Refused(f"Column {field.name} may not be null", "Give every row a value.")
        if _holds_null(column):
            raise Refused(f"Column {field.name} holds a null where its type has none", "Give it a value.")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _converted(field: pa.Field, column: pa.Array) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        made = column.cast(field.type)
    except pa.ArrowException as error:
        raise Refused(f"Column {field.name} holds what {field.type} can't: {error}") from error
    lost = None
    if pa.types.is_floating(column.type) and pa.types.is_decimal(field.type):
        lost = pc.not_equal(made.cast(column.type), column)
    elif pa.types.is_float64(column.type) and pa.types.is_float32(field.type):
        # It may lose digits, as usual with floats, but not its magnitude.
        lost = pc.and_(pc.is_inf(made), pc.invert(pc.is_inf(column)))
    if lost is not None and pc.any(lost).as_py():
        raise _can_not_hold(field.name, column.filter(lost)[0])
    return made


def _holds_null(column: pa.Array) -> bool:
    """Whether a nested value is null that may not be by the column's type. Arrow does not check that."""
    kind = column.type
    if not pa.types.is_nested(kind):
        return False
    if pa.types.is_struct(kind):
        there = column.filter(column.is_valid())
        parts = [(kind[index], there.field(index)) for index in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        parts = [
            (field, values.slice(first, last - first))
            for field, values in ((kind.key_field, column.keys), (kind.item_field, column.items))
        ]
    else:
        parts = [(kind.value_field, column.flatten())]
    return any((not field.nullable and each.null_count) or _holds_null(each) for field, each in parts)


def require_lengths(schema: TableSchema, batch: pa.RecordBatch) -> None:
    """Raises `Refused` for text or bytes that are longer than the column's type allows."""
    for field in schema.fields:
        kind = ColumnType.of(field.type) if isinstance(field.type, str) else None
        if kind is None or kind.first is None or kind.name not in _LENGTHS:
            continue
        column = batch.column(batch.schema.get_field_index(field.name))
        too_long = pc.greater(_LENGTHS[kind.name](column), kind.first)
        if pc.any(too_long).as_py():
            raise _can_not_hold(field.name, column.filter(too_long)[0])


_LENGTHS = {
    **dict.fromkeys(("CHAR", "VARCHAR"), pc.utf8_length),
    **dict.fromkeys(("BINARY", "VARBINARY"), pc.binary_length),
}


def _can_not_hold(column: str, value: pa.Scalar) -> Refused:
    return Refused(f"Column {column} can't hold {str(value.as_py())[:60]} as it is", CAST_HINT)
