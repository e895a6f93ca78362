"""The Arrow schema of a result without rows, from Spark's names of its types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

_PLAIN = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NESTED = re.compile(r"(array|map|struct)<(.*)>", re.DOTALL)


def empty_rows(names: Sequence[str], types: Sequence[str]) -> pa.Table:
    """An empty table with these columns. A type that Arrow lacks becomes text."""
    arrays = [pa.array([], arrow_type(each)) for each in types]
    return pa.Table.from_arrays(arrays, names=list(names))


def arrow_type(spark_type: str) -> pa.DataType:
    """The Arrow type of a Spark type such as `array<struct<a:int,b:decimal(10,2)>>`."""
    text = spark_type.strip()
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _NESTED.fullmatch(text):
        parts = list(_parts(match[2]))
        if match[1] == "struct":
            fields = (part.partition(":") for part in parts)
            return pa.struct([pa.field(name.strip("`"), arrow_type(kind)) for name, _, kind in fields])
        if match[1] == "array":
            return pa.list_(arrow_type(match[2]))
        if len(parts) == 2:
            return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    return pa.string()


def _parts(text: str) -> Iterator[str]:
    """The pieces between the commas of the outermost level."""
    depth = start = 0
    for position, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and not depth:
            yield text[start:position]
            start = position + 1
    if text:
        yield text[start:]
