"""Rows that are written by `write_begun` and committed by `commit_begun`, so that a test can act in between.

In this very process, with the Spark of the fixture `spark_of_library`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from paimark.core.spark.library.commit import LibraryCommit
from paimark.core.spark.writing.target import WriteTarget, find_target
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from tests.interop.written import Table
from tests.spark.library.session import writes_of


class OwnTable(Table):
    """Paimark writes its rows."""

    def write(self, rows: Sequence[Sequence[Any]], *, overwrite: bool = False) -> None:
        target = find_target({"warehouse": str(self.warehouse), "table": self.name}, overwrite)
        commit_begun(target, write_begun(target, self.batch(rows)))


def write_begun(target: WriteTarget, batch: pa.RecordBatch) -> Any:
    """The files of one task, for `commit_begun`."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    files = open_files(target.warehouse, target.options)
    frame = session.createDataFrame(pa.Table.from_batches([batch]))
    return writes_of(session, files).written(target, frame)


def upserts_begun(target: WriteTarget, batch: pa.RecordBatch) -> Any:
    """As `write_begun`, of rows of keys: others may commit rows of other keys after the target's head."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    write = writes_of(session, open_files(target.warehouse, target.options)).begun(target)
    write.changeBeside()
    write.write(session.createDataFrame(pa.Table.from_batches([batch]))._jdf, False)
    return write


def commit_begun(target: WriteTarget, written: Any, files: Files | None = None) -> None:
    """`files`: the store as the commit sees it."""
    store = files or open_files(target.warehouse, target.options)
    LibraryCommit(store, target, written).make()


def names_of(written: Any) -> set[str]:
    """The names of the data files."""
    return {path.rpartition("/")[2] for path in str(written.addresses()).split("\n")}
