"""Choose which splits of a table pypaimon-rust reads: those that `judgement` allows, if it is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pypaimon.read.split import DataSplit

from paimark.core.figures import counted
from paimark.core.spark.datasource.rust.installed import PACKAGE, why_missing
from paimark.core.spark.datasource.rust.judgement import (
    FileFacts,
    SplitFacts,
    TableFacts,
    why_not_split,
    why_not_table,
)
from paimark.core.spark.datasource.rust.stores import store_access
from paimark.core.spark.datasource.scan import Scan


class Choice:
    """The choice for one scan. `table` is pypaimon's, with the scan's schema."""

    def __init__(self, scan: Scan, table: Any) -> None:
        self._schemas = table.schema_manager
        self._written: dict[int, Sequence[Any] | None] = {table.table_schema.id: table.fields}
        self._store = _store(scan.warehouse)
        store = store_access(scan.warehouse, scan.options)
        # May contain secrets.
        self.store_options = store.options
        self._table = TableFacts(
            store,
            table.fields,
            table.table_schema.options,
            table.primary_keys,
            table.partition_keys,
        )
        self._why_not = "it is switched off"
        if scan.rust:
            self._why_not = why_missing() or why_not_table(self._table)

    def why_python(self, split: Any) -> str:
        """The reason why Python reads the split; empty if pypaimon-rust does."""
        if self._why_not:
            return self._why_not
        vectors = getattr(split, "data_deletion_files", None) or [None] * len(split.files)
        files = tuple(map(self._facts, split.files, vectors))
        facts = SplitFacts(files, type(split) is DataSplit, bool(split.is_streaming))
        return why_not_split(self._table, facts)

    def describe(self, splits: Iterable[Any]) -> str:
        """The text for EXPLAIN: `by pypaimon-rust`, or how many splits it reads, and why not the others."""
        reasons = Counter(self.why_python(split) for split in splits)
        if not reasons and self._why_not:
            reasons[self._why_not] = 1
        by_python = ", ".join(reason for reason in reasons if reason)
        if not by_python:
            return f"by {PACKAGE}"
        if not reasons[""]:
            return f"not by {PACKAGE}: {by_python}"
        return f"{reasons['']} of {counted(reasons.total(), 'split')} by {PACKAGE}, others not: {by_python}"

    def _facts(self, file: Any, vector: Any) -> FileFacts:
        is_partial = file.write_cols is not None or file.first_row_id is not None
        fields = self._fields(file.schema_id)
        is_elsewhere = bool(file.external_path) and _store(file.external_path) != self._store
        return FileFacts(
            file.file_name,
            file.level,
            file.delete_row_count,
            is_partial,
            fields,
            is_elsewhere,
            vector is not None,
        )

    def _fields(self, schema_id: int) -> Sequence[Any] | None:
        if schema_id not in self._written:
            schema = self._schemas.get_schema(schema_id)
            self._written[schema_id] = None if schema is None else schema.fields
        return self._written[schema_id]


def _store(address: str) -> str:
    scheme, is_address, rest = address.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if is_address and scheme != "file" else ""
