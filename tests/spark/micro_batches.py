"""Streaming queries without Spark: the data source is asked in Spark's order, through JSON and pickle."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict

from paimark.core.spark.source import PaimarkSource
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.lineage import Lineage


class Query:
    """Reads a table; `offsets` are the ends of its batches, `rows` those of the last one."""

    def __init__(self, warehouse: Path, table: str, **options: str) -> None:
        named = {name.replace("_", "-", 1).replace("__", "."): value for name, value in options.items()}
        self.options = {"warehouse": str(warehouse), "table": table, **named}
        self.offsets: list[dict[str, Any]] = []
        self.is_running = False
        self.start()

    def start(self) -> None:
        """Begin, or go on where the offsets end; the last batch is read again if it was not finished."""
        source = PaimarkSource(CaseInsensitiveDict(self.options))  # type: ignore[arg-type]  # as Spark does
        self.schema = source.schema()
        source = pickle.loads(pickle.dumps(source))
        self.reader = source.streamReader(self.schema)
        if self.offsets:
            self.reader.partitions(self.offsets[-1], self.offsets[-1])

    def batch(self) -> list[tuple[Any, ...]] | None:
        """The rows of the next batch, sorted; None when there is none."""
        end = json.loads(json.dumps(self.reader.latestOffset()))
        if self.offsets and end == self.offsets[-1]:
            return None
        self.offsets.append(end)
        rows = self.again()
        self.reader.commit(end)
        return rows

    def again(self) -> list[tuple[Any, ...]]:
        """The rows of the last batch, as after a crash."""
        start = self.offsets[-2] if len(self.offsets) > 1 else self.reader.initialOffset()
        parts = self.reader.partitions(start, self.offsets[-1])
        rows: list[tuple[Any, ...]] = []
        for part in parts:
            reader, sent = pickle.loads(pickle.dumps((self.reader, part)))
            for batch in reader.read(sent):
                assert isinstance(batch, pa.RecordBatch)
                assert batch.schema.names == self.schema.names
                rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return sorted(rows, key=repr)

    def all(self) -> list[tuple[Any, ...]]:
        """The rows of all batches that there are."""
        rows: list[tuple[Any, ...]] = []
        while (batch := self.batch()) is not None:
            rows += batch
        return rows


def lineage(warehouse: Path, table: str, branch: str | None = None) -> Lineage:
    return Lineage(LocalFiles(str(warehouse)), parse_table_name(table).root(branch))
