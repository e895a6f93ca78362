"""Read the columns of an Avro data file that merging needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from paimark.core.cancelling import check_cancelled
from paimark.core.table.manifests.avro import BadAvro, read_avro, schema_and_count

_ROWS_AT_ONCE = 1 << 15
# The largest unpacked block. Writers begin a block after some kilobytes, but equal rows compress very well.
_BLOCK_BYTES = 64 << 20
_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


class AvroRows:
    """An open file: one row group, without statistics. The constructor and the methods raise `BadAvro`."""

    def __init__(self, source: Any) -> None:
        self._data: bytes = source.read()
        try:
            self._schema, self.rows = schema_and_count(self._data)
            self._fields = {field["name"]: field for field in self._schema["fields"]}
        except (KeyError, TypeError, ValueError) as error:
            raise BadAvro(f"its schema is damaged: {error}") from error
        self.names: Sequence[str] = list(self._fields)

    def read(self, columns: list[str], first: int | None = None) -> pa.Table:
        """Read all rows, or the `first` ones."""
        fields = [_of_days(each) if name in columns else each for name, each in self._fields.items()]
        read_fields = [each for each in fields if each["name"] in columns]
        kinds = pa.schema([(each["name"], _type(each["type"])) for each in read_fields])
        writer_schema = {**self._schema, "fields": fields}
        reader_schema = {**writer_schema, "fields": read_fields}
        file = read_avro(self._data, _BLOCK_BYTES, writer_schema=writer_schema, reader_schema=reader_schema)
        return pa.Table.from_batches(_batches(islice(_undamaged(file.records), first), kinds), kinds)

    @property
    def group_rows(self) -> list[int]:
        return [self.rows]

    def bounds(self, column: str) -> list[tuple[Any, Any] | None]:
        """The minimum and maximum of each row group, which are unknown in Avro."""
        return [None]

    def group(self, columns: list[str], number: int) -> pa.Table:
        return self.read(columns)

    def may_retract(self) -> bool:
        return True


def _batches(records: Iterator[dict[str, Any]], kinds: pa.Schema) -> Iterator[pa.RecordBatch]:
    while some := list(islice(records, _ROWS_AT_ONCE)):
        check_cancelled()
        yield pa.RecordBatch.from_pylist(some, kinds)


def _undamaged(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    try:
        yield from records
    except BadAvro:
        raise
    except Exception as error:
        # fastavro raises all kinds of errors for a damaged file.
        raise BadAvro(f"it is damaged: {error}") from error


def _of_days(field: dict[str, Any]) -> dict[str, Any]:
    """The field with dates as numbers, because Python's dates don't cover Paimon's. Keeps a union's order."""
    kind = field["type"]
    return {**field, "type": [_days(each) for each in kind] if isinstance(kind, list) else _days(kind)}


def _days(kind: Any) -> Any:
    return "int" if isinstance(kind, dict) and kind.get("logicalType") == "date" else kind


def _type(kind: Any) -> pa.DataType:
    kind = _without_null(kind)
    if isinstance(kind, dict) and kind.get("logicalType") == "decimal":
        return pa.decimal128(kind["precision"], kind.get("scale", 0))
    name = kind.get("type") if isinstance(kind, dict) and "logicalType" not in kind else kind
    if not isinstance(name, str) or name not in _TYPES:
        raise BadAvro(f"a column of {kind} is none that rows are merged by")
    return _TYPES[name]


def _without_null(kind: Any) -> Any:
    """The type; for a union its first one that is not null."""
    return next((each for each in kind if each != "null"), None) if isinstance(kind, list) else kind
