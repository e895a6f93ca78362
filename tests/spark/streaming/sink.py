"""A streaming query's writing side, step by step, in this very process and with its Spark."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.streaming import commit_attempts
from paimark.core.spark.streaming.batch_commit import StreamBatch, commit_batch
from paimark.core.spark.writing.target import WriteTarget, find_target
from paimark.core.storage.local import LocalFiles
from paimark.core.table import commits
from paimark.core.table.layout import TablePath
from tests.paimon import commit, create_table, read_rows
from tests.spark.library.session import writes_of

LOG, KEYED = TablePath("shop", "log"), TablePath("shop", "keyed")
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])


class Written(NamedTuple):
    """The files of a batch that waits for its commit; `files` is Java's."""

    target: WriteTarget
    files: Any


class Sink:
    """The query, its checkpoint, and the process that may die. `run` is Spark's name of the run."""

    run = ""

    def __init__(self, warehouse: Path, table: TablePath = LOG, **options: str) -> None:
        checkpoint = warehouse.parent / f"checkpoint-{uuid.uuid4()}"
        checkpoint.mkdir()
        self.query = str(uuid.uuid4())
        (checkpoint / "metadata").write_text(json.dumps({"id": self.query}))
        self.warehouse = warehouse
        self.table = table
        self.options = {
            "warehouse": str(warehouse),
            "table": table.full_name,
            "checkpointLocation": str(checkpoint),
            **{name.replace("_", "-"): value for name, value in options.items()},
        }

    def write(self, *tasks: Sequence[int]) -> Written:
        """The rows of tasks that each have such ids."""
        session = SparkSession.getActiveSession()
        assert session is not None
        # Spark asks for each batch in another process, which knows of no commit before it.
        commits._LAST.clear()
        target = self._batch(0).target(find_target(self.options, False))
        files = self._writes().begun(target)
        ids = [each for task in tasks for each in task]
        said = pa.array([f"s{each}" for each in ids], pa.string())
        rows = pa.table({"id": pa.array(ids, pa.int64()), "said": said})
        jvm: Any = session._jvm
        jvm.paimark.library.SourceRows.write(files, session.createDataFrame(rows)._jdf)
        return Written(target, files)

    def commit(self, batch: int, written: Written) -> None:
        commit_batch(self._writes(), written.target, self._batch(batch), written.files)

    def batch(self, number: int, *tasks: Sequence[int]) -> None:
        self.commit(number, self.write(*tasks))

    def sets_out(self, batch: int, watermark: int) -> None:
        """What Spark writes before it runs a batch."""
        offsets = Path(self.options["checkpointLocation"]) / "offsets"
        offsets.mkdir(exist_ok=True)
        metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": 1, "conf": {}}
        (offsets / str(batch)).write_text(f'v1\n{json.dumps(metadata)}\n{{"logOffset":0}}')

    @property
    def attempts(self) -> list[commit_attempts.Attempt]:
        return commit_attempts.attempts(LocalFiles(str(self.warehouse)), self.table, self.query)

    def _batch(self, number: int) -> StreamBatch:
        batch = StreamBatch.of({**self.options, "batch": str(number)})
        assert batch is not None
        return msgspec.structs.replace(batch, run=self.run)

    def _writes(self) -> LibraryWrites:
        session = SparkSession.getActiveSession()
        assert session is not None
        return writes_of(session, LocalFiles(str(self.warehouse)))


@pytest.fixture
def shop(spark_of_library: SparkSession, tmp_path: Path) -> Path:
    """A warehouse with two tables without rows, and a Spark."""
    path = tmp_path / "warehouse"
    create_table(path, "shop.log", SCHEMA)
    create_table(path, "shop.keyed", SCHEMA, primary_keys=["id"], options={"bucket": "2"})
    return path


def ids(warehouse: Path, table: str = "shop.log") -> list[int]:
    return sorted(row["id"] for row in read_rows(warehouse, table))


def other_commits(warehouse: Path, *numbers: int) -> None:
    for number in numbers:
        commit(warehouse, "shop.log", pa.table({"id": [number], "said": ["other"]}, schema=SCHEMA))
