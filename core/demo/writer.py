"""Write the demo's tables with pypaimon, and backdate each commit."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange


class DemoWriter:
    """One database of a local warehouse. Times are epoch milliseconds."""

    def __init__(self, warehouse: Path, database: str) -> None:
        self._directory = warehouse / f"{database}.db"
        self._database = database
        self._catalog = CatalogFactory.create({"warehouse": str(warehouse)})
        self._catalog.create_database(database, True)

    def create_table(
        self,
        name: str,
        columns: pa.Schema,
        time_ms: int,
        *,
        primary_keys: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str,
    ) -> None:
        definition = Schema.from_pyarrow_schema(
            columns,
            primary_keys=list(primary_keys),
            partition_keys=list(partition_keys),
            options=dict(options or {}),
            comment=comment,
        )
        self._catalog.create_table(f"{self._database}.{name}", definition, False)
        _set_time(self._directory / name / "schema" / "schema-0", time_ms)

    def add_column(self, name: str, column: str, sql_type: str, time_ms: int) -> None:
        change = SchemaChange.add_column(column, AtomicType(sql_type))
        self._catalog.alter_table(f"{self._database}.{name}", [change])
        schemas = self._directory / name / "schema"
        newest = max(schemas.glob("schema-*"), key=lambda path: int(path.name.removeprefix("schema-")))
        _set_time(newest, time_ms)

    def commit(self, name: str, rows: pa.Table, time_ms: int, branch: str | None = None) -> int:
        """Commit rows to main or a branch; returns the snapshot's id."""
        suffix = f"$branch_{branch}" if branch else ""
        builder = self._catalog.get_table(f"{self._database}.{name}{suffix}").new_batch_write_builder()
        writer, committer = builder.new_write(), builder.new_commit()
        writer.write_arrow(rows)
        committer.commit(writer.prepare_commit())
        writer.close()
        committer.close()
        root = self._directory / name / (f"branch/branch-{branch}" if branch else "")
        snapshot_id = int((root / "snapshot" / "LATEST").read_text())
        _set_time(root / "snapshot" / f"snapshot-{snapshot_id}", time_ms)
        return snapshot_id

    def date_branch(self, name: str, branch: str, time_ms: int) -> None:
        """Backdate a branch: its creation time is the modification time of its first schema file."""
        for path in (self._directory / name / "branch" / f"branch-{branch}" / "schema").iterdir():
            os.utime(path, (time_ms / 1000, time_ms / 1000))


def _set_time(path: Path, time_ms: int) -> None:
    record: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "timeMillis": time_ms}, indent=2))
    os.utime(path, (time_ms / 1000, time_ms / 1000))
