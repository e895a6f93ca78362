"""Convert rows that a program writes through the data source to the table's types, without loss.

INSERT converts in the query (`paimark.core.spark.writing.column_assignment`). The data source gets a frame's
columns unconverted, and Arrow's casts round numbers, make them infinite, cut times to dates, drop fields of
structs, and treat a time without a zone as UTC. So only conversions that keep every value are made; for those
that may not, the values are compared.
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

from paimark.core.errors import Refused
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.records import TableSchema

CAST_HINT = "Convert it in the query, with cast or round, to say what may be lost."
_TEXTS = (StringType, CharType, VarcharType)
_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_FLOATING = (FloatType, DoubleType)
_NUMBERS = (*_WHOLE, *_FLOATING, DecimalType)


def require_types(name: str, row_columns: StructType, columns: StructType) -> None:
    """Raises `Refused` if the type of a row's column can't be written to the table's column of that name."""
    types = {each.name: each.dataType for each in columns}
    for each in row_columns:
        kind = types.get(each.name)
        if kind is not None and not _may_become(each.dataType, kind):
            raise Refused(
                f"Column {each.name} of {name} is {kind.simpleString()}, and the rows have "
                f"{each.dataType.simpleString()}",
                CAST_HINT,
            )


def _may_become(source: DataType, target: DataType, *, is_nested: bool = False) -> bool:
    """Whether a conversion keeps every value, or a loss is detected: only top-level values are checked."""
    if source == target or isinstance(source, NullType):
        return True
    match source, target:
        case ArrayType(), ArrayType():
            return _may_become(source.elementType, target.elementType, is_nested=True)
        case MapType(), MapType():
            return _may_become(source.keyType, target.keyType, is_nested=True) and _may_become(
                source.valueType, target.valueType, is_nested=True
            )
        case StructType(), StructType():
            kinds = {each.name: each.dataType for each in target}
            return all(
                each.name in kinds and _may_become(each.dataType, kinds[each.name], is_nested=True)
                for each in source
            )
    if isinstance(target, StringType):
        is_plain = isinstance(source, (*_WHOLE, DecimalType, BooleanType, DateType)) and not is_nested
        return is_plain or isinstance(source, _TEXTS)
    if isinstance(source, _NUMBERS) and isinstance(target, _NUMBERS):
        loses = isinstance(source, _FLOATING) and isinstance(target, FloatType | DecimalType)
        return not (loses and is_nested)
    if isinstance(source, DateType) and isinstance(target, TimestampNTZType):
        return True
    return isinstance(source, TimeType) and isinstance(target, TimeType)


def convert_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
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
        columns.append(_without_hidden_nulls(field.name, column) if _requires_inside(field.type) else column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _converted(field: pa.Field, column: pa.Array) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        # Arrow refuses to cast to a nested type without nulls, whatever the values are: `_holds_null` checks.
        converted = column.cast(_with_nulls(field.type))
    except pa.ArrowException as error:
        raise Refused(f"Column {field.name} holds what {field.type} can't: {error}") from error
    lost = None
    if pa.types.is_floating(column.type) and pa.types.is_decimal(field.type):
        lost = pc.not_equal(converted.cast(column.type), column)
    elif pa.types.is_float64(column.type) and pa.types.is_float32(field.type):
        # It may lose digits, as usual with floats, but not its magnitude.
        lost = pc.and_(pc.is_inf(converted), pc.invert(pc.is_inf(column)))
    if lost is not None and pc.any(lost).as_py():
        raise _can_not_hold(field.name, column.filter(lost)[0])
    return converted if converted.type == field.type else pa.array(_Retyped(converted, field.type))


class _Retyped:
    """An array as one of another type with the same layout, which differs only in where nulls are allowed."""

    def __init__(self, column: pa.Array, kind: pa.DataType) -> None:
        self._column = column
        self._kind = kind

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        _, values = self._column.__arrow_c_array__()
        return self._kind.__arrow_c_schema__(), values


def _without_hidden_nulls(name: str, column: pa.Array) -> pa.Array:
    """Give the required fields of a ROW a value in rows where the ROW itself is null.

    Arrow writes no Parquet file with a null there. Raises `Refused` for a field that is nested itself.
    """
    kind = column.type
    if not pa.types.is_nested(kind):
        return column
    column = pa.concat_arrays([column]) if column.offset else column
    mask = column.is_null() if column.null_count else None
    if pa.types.is_struct(kind):
        fields = [kind[index] for index in range(kind.num_fields)]
        inner = [_without_hidden_nulls(name, column.field(index)) for index in range(len(fields))]
        values = [
            each if field.nullable else _valued(name, each) for field, each in zip(fields, inner, strict=True)
        ]
        return pa.StructArray.from_arrays(values, fields=fields, mask=mask)
    if pa.types.is_map(kind):
        items = _without_hidden_nulls(name, column.items)
        return pa.MapArray.from_arrays(column.offsets, column.keys, items, type=kind, mask=mask)
    values = _without_hidden_nulls(name, column.values)
    return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=mask)


def _valued(name: str, column: pa.Array) -> pa.Array:
    """The array with any value in place of its nulls."""
    if not column.null_count:
        return column
    if pa.types.is_nested(column.type):
        raise Refused(
            f"Column {name} has a null ROW with a field of {column.type}, which may not be null: it can't be "
            "written here",
            "Give the ROW a value, or write it with a stock engine.",
        )
    return pa.Array.from_buffers(column.type, len(column), [None, *column.buffers()[1:]], 0, column.offset)


def _requires_inside(kind: pa.DataType) -> bool:
    """Whether the type has a field that may not be null."""
    return not kind.equals(_with_nulls(kind))


def _with_nulls(kind: pa.DataType) -> pa.DataType:
    """The type with nulls allowed at any depth, except in the keys of maps."""

    def nullable(field: pa.Field) -> pa.Field:
        return field.with_type(_with_nulls(field.type)).with_nullable(True)

    if pa.types.is_struct(kind):
        return pa.struct([nullable(kind[index]) for index in range(kind.num_fields)])
    if pa.types.is_map(kind):
        key = kind.key_field.with_type(_with_nulls(kind.key_type))
        return pa.map_(key, nullable(kind.item_field), kind.keys_sorted)
    return pa.list_(nullable(kind.value_field)) if pa.types.is_list(kind) else kind


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


def padded(schema: TableSchema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with blanks up to the length of its CHAR columns, as Spark writes them."""
    for field in schema.fields:
        kind = ColumnType.of(field.type) if isinstance(field.type, str) else None
        place = batch.schema.get_field_index(field.name)
        if kind is not None and kind.name == "CHAR" and kind.first is not None and place >= 0:
            full = pc.utf8_rpad(batch.column(place), width=kind.first, padding=" ")
            batch = batch.set_column(place, batch.schema.field(place), full)
    return batch


_LENGTHS = {
    **dict.fromkeys(("CHAR", "VARCHAR"), pc.utf8_length),
    **dict.fromkeys(("BINARY", "VARBINARY"), pc.binary_length),
}


def _can_not_hold(column: str, value: pa.Scalar) -> Refused:
    return Refused(f"Column {column} can't hold {str(value.as_py())[:60]} as it is", CAST_HINT)
