"""Refuse nulls inside arrays, which pypaimon can't write to Avro files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from paimark.core.errors import Refused


def require_no_null_elements(name: str, table: Any, batch: pa.RecordBatch) -> None:
    """Raises `Refused`, which names a column of `batch` that can't be written. `table` is pypaimon's."""
    if table.options.file_format() != "avro":
        return
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if _has_null_element(column):
            raise Refused(
                f"Column {field.name} of {name} has a null inside an ARRAY, which nothing here writes to "
                "Avro files",
                "Write it with the engine that made the table.",
            )


def _has_null_element(values: pa.Array) -> bool:
    kind = values.type
    if pa.types.is_list(kind):
        elements = values.flatten()
        return bool(elements.null_count) or _has_null_element(elements)
    return pa.types.is_struct(kind) and any(map(_has_null_element, values.flatten()))
