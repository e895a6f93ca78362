"""Types of columns that pyarrow can't read from files of some formats: the column is refused by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimark.core.errors import Refused
from paimark.core.spark.datasource.field_types import atoms, file_format, written_fields

# pyarrow's message for a Parquet file in which a VECTOR is null.
_NULL_VECTOR = "Expected all lists to be of size"
# And for an ORC file, which does not say that a field inside a column is never null.
_REQUIRED = "cannot cast nullable field to non-nullable field"
_HINT = "Leave it out; a stock engine reads it."


def require_kinds_read(name: str, table: Any, fields: Iterable[Any], splits: Iterable[Any]) -> None:
    """Raises `Refused` naming one of the `fields` that is a VARIANT in ORC files. `table` is pypaimon's."""
    variants = {field.id: field.name for field in fields if "VARIANT" in atoms(field.type)}
    files = (file for split in splits if variants for file in split.files)
    for schema_id in {file.schema_id for file in files if file_format(file.file_name) == "orc"}:
        # Files from before the column was added don't have it.
        for field in written_fields(table, schema_id):
            if field.id in variants:
                column = variants[field.id]
                raise Refused(
                    f"Column {column} of {name} is VARIANT in ORC files, which nothing here reads", _HINT
                )


def refuse_unread(table: str, fields: Iterable[Any], error: Exception) -> None:
    """Raises `Refused` if `error` is pyarrow's for values that it can't read."""
    if _REQUIRED in str(error):
        raise Refused(
            f"{table} has fields inside a column that are never null, which ORC files don't tell",
            "Python can't read them: `paimark jars fetch paimon` brings Paimon's own library, which can.",
        ) from error
    vectors = [field.name for field in fields if type(field.type).__name__ == "VectorType"]
    if vectors and _NULL_VECTOR in str(error):
        raise Refused(
            f"A value of {' or '.join(vectors)} of {table} is null, which nothing here reads of a VECTOR in "
            "Parquet files",
            _HINT,
        ) from error
