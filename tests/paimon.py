"""Real tables for the tests, written by pypaimon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType


def create_table(
    warehouse: Path | str,
    name: str,
    schema: pa.Schema,
    *,
    primary_keys: Sequence[str] = (),
    partition_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    catalog_options: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
) -> None:
    """Create `database.table` and its database. `words` are the types of columns that Arrow has none for."""
    catalog = CatalogFactory.create({"warehouse": str(warehouse), **(catalog_options or {})})
    catalog.create_database(name.split(".")[0], True)
    definition = Schema.from_pyarrow_schema(
        schema,
        primary_keys=list(primary_keys),
        partition_keys=list(partition_keys),
        options=dict(options or {}),
    )
    for field in definition.fields:
        if word := (words or {}).get(field.name):
            field.type = AtomicType(word, field.type.nullable)
    catalog.create_table(name, definition, False)


def open_table(warehouse: Path | str, name: str, catalog_options: Mapping[str, str] | None = None) -> Any:
    """pypaimon's table, freshly loaded."""
    catalog = CatalogFactory.create({"warehouse": str(warehouse), **(catalog_options or {})})
    return catalog.get_table(name)


def commit(
    warehouse: Path | str,
    name: str,
    rows: pa.Table,
    catalog_options: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """One commit of these rows to `database.table` (or `database.table$branch_b`).

    `overwrite` replaces all rows, in a partitioned table those of the partitions written to.
    """
    builder = open_table(warehouse, name, catalog_options).new_batch_write_builder()
    if overwrite:
        builder = builder.overwrite()
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(rows)
    committer.commit(writer.prepare_commit())
    writer.close()
    committer.close()


def read_rows(warehouse: Path | str, name: str, *, tag: str | None = None) -> list[dict[str, Any]]:
    """All rows of the latest snapshot, or a tag, as pypaimon reads them, in no particular order."""
    table = open_table(warehouse, name)
    builder = (table.copy({"scan.tag-name": tag}) if tag else table).new_read_builder()
    arrow = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    rows: list[dict[str, Any]] = arrow.to_pylist()
    return rows
