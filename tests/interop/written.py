"""Tables of Paimon's own types, written by pypaimon."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isinf, isnan
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType, DataField, PyarrowFieldParser

from tests.paimon import commit

_EPOCH = datetime(1970, 1, 1)

# Fields of a file's record that came after 0.9.
_LATER = ("_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS")


class Table:
    """A table with columns of Paimon's types; key columns are NOT NULL."""

    def __init__(
        self,
        warehouse: Path,
        name: str,
        columns: Mapping[str, str],
        *,
        keys: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.warehouse = warehouse
        self.name = name
        fields = [
            DataField(index, column, AtomicType(kind, nullable=column not in keys))
            for index, (column, kind) in enumerate(columns.items())
        ]
        definition = Schema(
            fields=fields,
            primary_keys=list(keys),
            partition_keys=list(partition_keys),
            options=dict(options or {}),
        )
        catalog = CatalogFactory.create({"warehouse": str(warehouse)})
        catalog.create_database(name.split(".")[0], True)
        catalog.create_table(name, definition, False)
        self._schema = PyarrowFieldParser.from_paimon_schema(fields)

        self._columns = columns

    def stored(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """The rows as they are stored: CHAR has blanks up to its length."""
        lengths = [int(kind[5:-1]) if kind.startswith("CHAR(") else 0 for kind in self._columns.values()]
        return [
            tuple(
                value.ljust(most) if most and value is not None else value
                for value, most in zip(row, lengths, strict=True)
            )
            for row in rows
        ]

    @property
    def directory(self) -> Path:
        database, table = self.name.split(".")
        return self.warehouse / f"{database}.db" / table

    def write(self, rows: Sequence[Sequence[Any]], *, overwrite: bool = False) -> None:
        """Commit rows, with values in the order of the columns."""
        commit(self.warehouse, self.name, pa.Table.from_batches([self.batch(rows)]), overwrite=overwrite)

    def batch(self, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        arrays = [
            pa.array([row[index] for row in rows], field.type) for index, field in enumerate(self._schema)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def files(self) -> set[Path]:
        return {path for path in self.directory.rglob("*") if path.is_file()}


def as_judged(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The rows in the judge's format (see `Values.java`), sorted by their `repr`."""
    return sorted(([_judged(value) for value in row] for row in rows), key=repr)


def _judged(value: Any) -> Any:
    match value:
        case datetime():
            value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return (value - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days
        case time():
            return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + value.microsecond // 1000
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.hex()
        case float() if isnan(value):
            return "NaN"
        case float() if isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
    return value


def with_old_manifests(directory: Path) -> None:
    """Take the fields that came after Paimon 0.9 out of every manifest of a table."""
    for path in directory.glob("manifest/manifest-*"):
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        schema: Any = json.loads(json.dumps(reader.writer_schema))
        for file in (each for each in schema["fields"] if each["name"] == "_FILE"):
            fields = file["type"]["fields"]
            file["type"]["fields"] = [each for each in fields if each["name"] not in _LATER]
        records = list(reader)
        with path.open("wb") as out:
            fastavro.writer(out, schema, records, codec="null")
