"""The writing half of the data source `paimark`: the rows of a write, or of a micro-batch, are one commit.

    rows.write.format("paimark").mode("append").option("warehouse", uri).option("table", "db.t").save()

Options: `warehouse`, `table`, and optionally `branch`; all others are catalog options. Without a branch the
rows go to the root that is main. Mode `overwrite` replaces the whole table; with the option
`partitionOverwriteMode` = `dynamic` only the partitions that rows come for. Columns are matched by name. If
the table has the option `rowkind.field`, that column tells which rows delete (`-D`). A stream has options of
its own: `paimark.core.spark.streaming.batch_commit`.

Paimon's library in Java writes the rows. `SourceWrite.java` asks twice in Python, each time in a process that
Spark starts: what to write to, and for the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSourceWriter, WriterCommitMessage

from paimark.core.errors import Refused, hints_in_messages
from paimark.core.spark.datasource.options import DOOR
from paimark.core.spark.library.door import Visit
from paimark.core.spark.streaming.batch_commit import StreamBatch, commit_batch
from paimark.core.spark.writing.target import WriteTarget, find_target

if TYPE_CHECKING:
    from pyspark.sql import Row


class PaimarkWriter(DataSourceWriter):
    """It is made where the write is planned, and sent to the process that commits."""

    def __init__(self, door: str, target: WriteTarget, batch: StreamBatch | None) -> None:
        self._door = door
        self._target = target
        self._batch = batch

    def write(self, iterator: Iterator[Row]) -> NoReturn:
        raise AssertionError("Java writes the rows")

    @hints_in_messages()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        visit = Visit(self._door)
        writes, written = visit.writes(self._target), visit.written
        if self._batch is None:
            writes.finish(self._target, written)
        else:
            commit_batch(writes, self._target, self._batch, written)


def writer(options: Mapping[str, str], overwrite: bool) -> PaimarkWriter:
    """Begin the write that the options name. Raises `Refused` without Java's half of it, or by its kind."""
    door = options.get(DOOR)
    if door is None:
        raise no_jar()
    batch = StreamBatch.of(options)
    target = find_target(options, overwrite)
    if batch is not None:
        target = batch.target(target)
    visit = Visit(door)
    visit.begin_write(visit.writes(target).begun(target))
    return PaimarkWriter(door, target, batch)


def no_jar() -> Refused:
    return Refused(
        "Rows are written by Paimon's own library, and this Spark has not got it from Paimark",
        "Start Spark with the settings that paimark.open(warehouse).spark_settings() gives, or those that "
        "`paimark jars catalog lake` prints.",
    )
