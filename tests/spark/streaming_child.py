"""A Spark of its own that runs streaming queries: `python -m tests.spark.streaming_child SCRATCH`.

Each line in is a query as JSON (`Pump`); each line out says how it ended, as a JSON string, empty for well.
The first one says which process is Spark's Java.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from paimark.core.spark.launch.session import start_spark
from paimark.core.spark.protocol import Start
from paimark.core.spark.source import PaimarkSource
from paimark.core.spark.source_writer import PaimarkWriter
from tests.spark.dying import die_at
from tests.spark.standalone import SPARING

RETAINED = "spark.sql.streaming.minBatchesToRetain"
# The compiler that starts fast: these queries are short.
FAST = {"spark.driver.extraJavaOptions": SPARING}
QUIET = {
    "spark.driver.memory": "700m",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    RETAINED: "2",
}


class Pump(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a table, or of JSON files in a directory, into a table until there are no more.

    `source` and `sink` are options; `dies` is a point in the commit of the first batch. `tasks` is how many
    write. With `until` the query goes on until that file is there; `to_end` is in many batches. `timed_by` is
    a column whose times are the query's watermark, and which is not written.
    """

    checkpoint: str
    source: dict[str, str]
    sink: dict[str, str]
    schema: str | None = None
    dies: str = ""
    tasks: int | None = None
    until: str = ""
    to_end: bool = False
    timed_by: str = ""


class Dying(PaimarkSource):
    """Its process is killed at the point that the option `dies` names, if it is given."""

    def writer(self, schema: StructType, overwrite: bool) -> PaimarkWriter:
        point = self.options.pop("dies", "")
        return DyingWriter(super().writer(schema, overwrite), point)


class DyingWriter(PaimarkWriter):
    def __init__(self, writer: PaimarkWriter, point: str) -> None:
        self.__dict__.update(writer.__dict__)
        self._point = point

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if not self._point:
            super().commit(messages)
            return
        # A process that lives on commits for other queries.
        with pytest.MonkeyPatch.context() as patched:
            die_at(self._point, patched.setattr, kill)
            super().commit(messages)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(session: SparkSession, pump: Pump) -> str:
    """How it ended: the error's text, empty for none."""
    try:
        query = _writer(_rows(session, pump), pump).start()
        if pump.to_end:
            query.processAllAvailable()
            query.stop()
        while not query.awaitTermination(1):
            if pump.until and Path(pump.until).exists():
                query.stop()
    # Whatever it is, the test looks at it.
    except Exception as error:
        return str(error)
    return ""


def _rows(session: SparkSession, pump: Pump) -> DataFrame:
    if pump.schema is None:
        return session.readStream.format("paimark").options(**pump.source).load()
    rows = session.readStream.schema(pump.schema).format("json").options(**pump.source).load()
    if pump.timed_by:
        rows = rows.withWatermark(pump.timed_by, "0 seconds").drop(pump.timed_by)
    return rows if pump.tasks is None else rows.repartition(pump.tasks)


def _writer(rows: DataFrame, pump: Pump) -> DataStreamWriter:
    writer = rows.writeStream.format("paimark").options(**pump.sink, dies=pump.dies)
    writer = writer.option("checkpointLocation", pump.checkpoint)
    if pump.until or pump.to_end:
        return writer.trigger(processingTime="50 milliseconds")
    return writer.trigger(availableNow=True)


def main() -> None:
    scratch = Path(sys.argv[1])
    spark = start_spark(Start("", {}, "local[2]", QUIET | FAST, str(scratch), False))
    spark.session.dataSource.register(Dying)
    print(json.dumps(f"ready {spark.process.pid}"), flush=True)
    with suppress(KeyboardInterrupt):
        for line in sys.stdin:
            print(json.dumps(run(spark.session, msgspec.json.decode(line, type=Pump))), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
