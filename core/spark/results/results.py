"""How a data frame's rows leave Spark: collected when Spark says they are few, else through an outlet.

At the outlet either tasks hand them in, or, where a cluster encrypts or speculates, the driver's Java process
does, which has Spark fetch them: `native/ResultRows.java` has both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql_functions
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import CalendarIntervalType, VariantType, YearMonthIntervalType

from core.spark.arrow import in_zone, ipc_stream
from core.spark.native.compiled import compiled, new_instance, send_to_executors
from core.spark.native.first_rows import SMALL_RESULT
from core.spark.protocol import Batch, Columns
from core.spark.results.outlet import Outlet
from core.spark.results.sender import HEAD, STREAM_END, SentBatch

if TYPE_CHECKING:
    from core.spark.launch.session import Spark

# These have no Arrow type that others understand; as text they have one.
_AS_TEXT = (CalendarIntervalType, VariantType, YearMonthIntervalType)
_JOB_END_SECONDS = 10.0
_ALL = (1 << 63) - 1


def presentable(frame: DataFrame) -> DataFrame:
    """The same rows with every column of a type that Arrow and people can read."""
    fields = frame.schema.fields
    if not any(isinstance(field.dataType, _AS_TEXT) for field in fields):
        return frame
    # By place: names can be there twice.
    named = frame.toDF(*(f"c{index}" for index in range(len(fields))))
    columns = []
    for index, field in enumerate(fields):
        column = sql_functions.col(f"c{index}")
        text = column.cast("string") if isinstance(field.dataType, _AS_TEXT) else column
        columns.append(text.alias(field.name))
    return named.select(*columns)


def tell_columns(frame: DataFrame, tell: Callable[[Columns], None]) -> None:
    """Of a frame that is presentable."""
    fields = frame.schema.fields
    types = tuple(each.dataType.simpleString() for each in fields)
    tell(Columns(tuple(each.name for each in fields), types))


def is_small(optimized: Any) -> bool:
    """Whether an optimised plan can't give more rows than are worth collecting."""
    most = optimized.maxRows()
    return bool(most.isDefined()) and int(str(most.get())) <= SMALL_RESULT


class Results:
    """Hands out the rows of data frames of one Spark."""

    def __init__(self, spark: Spark) -> None:
        self._spark = spark
        # A thread is kept, as each would bring a thread in Java with it and a connection.
        self._jobs = ThreadPoolExecutor(thread_name_prefix="job")

    def collected(self, frame: DataFrame) -> Generator[SentBatch]:
        """All rows of a small result."""
        schema = _schema(frame)
        frames = self._java.collected(frame._jdf)
        offset = 0
        while offset < len(frames):
            length, count = HEAD.unpack_from(frames, offset)
            offset += HEAD.size + length
            yield _stream(schema, frames[offset - length : offset]), count

    def streamed(self, frame: DataFrame, tag: str, most: int | None = None) -> Generator[SentBatch]:
        """All rows in order while they are made. Closing the iterator ends their job, which has the `tag`.

        `most` is how many will be looked at, None for all. Raises `Unavailable` without a port.
        """
        schema, port = _schema(frame), self._spark.port
        context = frame.sparkSession.sparkContext
        outlet = Outlet(port, self._spark.scratch)

        def run_job() -> int:
            context.addJobTag(tag)
            try:
                to = (*outlet.address, outlet.secret)
                if port.is_direct:
                    return int(self._java.send(frame._jdf, *to))
                return int(self._relay.relay(frame._jdf, *to, _ALL if most is None else most))
            finally:
                context.removeJobTag(tag)

        def ended(job: Future[int]) -> None:
            failure = job.exception()
            if failure is None:
                outlet.job_ended(None, job.result())
            else:
                # The reader of the rows raises it.
                outlet.job_ended(failure if isinstance(failure, Exception) else RuntimeError(repr(failure)))

        job = self._jobs.submit(run_job)
        job.add_done_callback(ended)
        try:
            for data, count in outlet.rows():
                yield _stream(schema, data), count
        finally:
            if not job.done():
                # Before its tasks find the outlet closed: they would take it for a fault.
                with suppress(Exception):
                    context.cancelJobsWithTag(tag)
            outlet.close()
            wait([job], _JOB_END_SECONDS)

    @cached_property
    def _java(self) -> Any:
        return new_instance(self._spark.session, "ResultRows", compiler=self._compiler)

    @cached_property
    def _relay(self) -> Any:
        session = self._spark.session
        compiler = compiled(session, "RelayedRows", self._compiler)
        send_to_executors(session, "relayed-rows.jar", compiler)
        return new_instance(session, "RelayedRows", compiler=compiler)

    @cached_property
    def _compiler(self) -> Any:
        session = self._spark.session
        compiler = compiled(session, "ResultRows")
        send_to_executors(session, "result-rows.jar", compiler)
        return compiler


def _schema(frame: DataFrame) -> bytes:
    """The first message of an Arrow stream of the frame's rows."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    schema = to_arrow_schema(frame.schema)
    return bytes(pa.schema([in_zone(field, zone) for field in schema]).serialize())


def _stream(schema: bytes, batch: bytes) -> bytes:
    return b"".join((schema, batch, STREAM_END))


def tell_rows(
    rows: Iterable[SentBatch], tell: Callable[[Batch], None], limit: int | None, most: int | None = None
) -> tuple[int, bool]:
    """Rows told, and whether there were more than `limit`. `most` is the statement's own LIMIT."""
    sent = 0
    for batch in rows:
        if most is not None:
            batch = cut(batch, most - sent)
        if limit is not None and sent + batch[1] > limit:
            if limit > sent:
                tell(Batch(cut(batch, limit - sent)[0]))
            return limit, True
        tell(Batch(batch[0]))
        sent += batch[1]
        if most is not None and sent >= most:
            break
    return sent, False


def cut(batch: SentBatch, rows: int) -> SentBatch:
    """The first `rows` rows of a batch."""
    data, count = batch
    if count <= rows:
        return batch
    with pa.ipc.open_stream(data) as reader:
        return ipc_stream(reader.read_next_batch().slice(0, rows)), rows
