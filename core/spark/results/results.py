"""Get a data frame's rows from Spark: collected if Spark knows that they are few, else through a server.

Tasks send their rows to the server. If a cluster encrypts or speculates, the driver's Java process fetches
them through Spark and sends them: see `scans/ResultRows.java` and `scans/RelayedRows.java`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql_functions
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from paimark.core.once import once_for_all
from paimark.core.spark.arrow import in_zone, ipc_stream
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.native.first_rows import SMALL_RESULT
from paimark.core.spark.protocol import Batch, Columns, StageProgress
from paimark.core.spark.results.row_server import HEAD, STREAM_END, RowServer, SentBatch
from paimark.core.spark.session_conf import LARGE_TYPES, SessionConf

if TYPE_CHECKING:
    from paimark.core.spark.launch.session import Spark


# These types have no Arrow type that others understand, so they are cast to text.
_AS_TEXT = (CalendarIntervalType, VariantType, YearMonthIntervalType)
_JOB_END_SECONDS = 10.0
_ALL = (1 << 63) - 1


def presentable(frame: DataFrame) -> DataFrame:
    """The frame with all columns cast to types that Arrow and people can read."""
    if is_presentable(frame.schema):
        return frame
    fields = frame.schema.fields
    # By index, because names may occur twice.
    named = frame.toDF(*(f"c{index}" for index in range(len(fields))))
    columns = []
    for index, field in enumerate(fields):
        column = sql_functions.col(f"c{index}")
        shown = _shown_as(field.dataType)
        column = column if shown == field.dataType else column.cast(shown)
        columns.append(column.alias(field.name))
    return named.select(*columns)


def is_presentable(types: StructType) -> bool:
    return all(_shown_as(field.dataType) == field.dataType for field in types.fields)


def _shown_as(kind: DataType) -> DataType:
    """The type itself if it is presentable, otherwise the type to cast it to."""
    return StringType() if isinstance(kind, _AS_TEXT) else _without_void(kind)


def _without_void(kind: DataType) -> DataType:
    """The type with void items replaced by text: `array()` has items that are void and not null."""
    match kind:
        case ArrayType():
            return ArrayType(_item(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_item(kind.keyType), _item(kind.valueType), kind.valueContainsNull)
        case StructType():
            fields = (StructField(each.name, _item(each.dataType), each.nullable) for each in kind.fields)
            return StructType(list(fields))
    return kind


def _item(kind: DataType) -> DataType:
    return StringType() if isinstance(kind, NullType) else _without_void(kind)


def columns_of(types: StructType) -> Columns:
    names = tuple(field.name for field in types.fields)
    return Columns(names, tuple(field.dataType.simpleString() for field in types.fields))


def tell_columns(frame: DataFrame, tell: Callable[[Columns], None]) -> None:
    """Report the columns of a presentable frame."""
    tell(columns_of(frame.schema))


class HasQueries(Protocol):
    """The part of `paimark.core.spark.engine.planned.queries` that gives rows."""

    def few(self, results: Any, number: int, before: bool, most: int) -> bytes | None: ...

    def send_tables(self) -> None: ...

    def many(self, number: int, before: bool) -> Any: ...


class PlannedQuery(NamedTuple):
    """A query of `queries` by its number. `before`: it ran before. `schema` begins a stream of its rows."""

    queries: HasQueries
    number: int
    before: bool
    schema: bytes


class Results:
    """Gets the rows of one Spark's data frames."""

    def __init__(self, spark: Spark, conf: SessionConf) -> None:
        self._spark = spark
        self._conf = conf
        # Threads are reused, because each has a thread in Java and a connection.
        self._jobs = ThreadPoolExecutor(thread_name_prefix="job")

    def schema(self, types: StructType) -> bytes:
        """The first message of an Arrow stream of such rows."""
        # Java makes the batches by this setting. A reader with another schema would stop without an error.
        are_large = self._conf.get(LARGE_TYPES, "false").lower() == "true"
        columns = to_arrow_schema(types, prefers_large_types=are_large)
        fields = [in_zone(field, self._conf.zone) for field in columns]
        return bytes(pa.schema(fields).serialize())

    def collected(self, frame: DataFrame) -> Iterator[SentBatch]:
        """All rows of a small result."""
        return _batches(self.schema(frame.schema), self._java.collected(frame._jdf))

    def few(self, query: PlannedQuery) -> Iterator[SentBatch] | None:
        """All rows of a query; None if they may be too many to collect."""
        frames = query.queries.few(self._java, query.number, query.before, SMALL_RESULT)
        return None if frames is None else _batches(query.schema, frames)

    def many(self, query: PlannedQuery, tag: str, most: int | None) -> Generator[SentBatch]:
        """The rows of a query, as `streamed`."""
        query.queries.send_tables()
        frame = partial(query.queries.many, query.number, query.before)
        return self._handed_in(query.schema, frame, tag, most)

    def streamed(self, frame: DataFrame, tag: str, most: int | None = None) -> Generator[SentBatch]:
        """Yield all rows in order as they are computed. Closing the iterator ends the job, which has `tag`.

        `most` is how many will be read, None for all. Raises `Unavailable` without a port.
        """
        return self._handed_in(self.schema(frame.schema), lambda: frame._jdf, tag, most)

    def _send(self, most: int, frame: Callable[[], Any], *to: Any) -> int:
        """Send the rows to a server; return the number of partitions. `to` is tag, address and secret."""
        if self._spark.port.is_direct:
            return int(self._java.send(frame(), *to))
        return int(self._relay.relay(frame(), *to, most))

    def _handed_in(
        self, schema: bytes, frame: Callable[[], Any], tag: str, most: int | None
    ) -> Generator[SentBatch]:
        """Run a job that sends rows to a server, and yield them. `frame` returns Java's frame."""
        server = RowServer(self._spark.port, self._spark.scratch)
        to = (tag, *server.address, server.secret)
        job = self._jobs.submit(self._send, _ALL if most is None else most, frame, *to)
        job.add_done_callback(partial(_job_ended, server))
        try:
            for data, count in server.rows():
                yield _stream(schema, data), count
        finally:
            if not job.done():
                # Cancel the job before its tasks find the server closed, which would make them fail.
                with suppress(Exception):
                    self._spark.session.sparkContext.cancelJobsWithTag(tag)
            server.close()
            wait([job], _JOB_END_SECONDS)

    @once_for_all
    def _java(self) -> Any:
        return new_instance(self._spark.session, "scans.ResultRows")

    @once_for_all
    def _relay(self) -> Any:
        return new_instance(self._spark.session, "scans.RelayedRows")


def _job_ended(server: RowServer, job: Future[int]) -> None:
    failure = job.exception()
    if failure is None:
        server.job_ended(None, job.result())
    else:
        # The reader of the rows raises it.
        server.job_ended(failure if isinstance(failure, Exception) else RuntimeError(repr(failure)))


def _batches(schema: bytes, frames: bytes) -> Iterator[SentBatch]:
    offset = 0
    while offset < len(frames):
        length, count = HEAD.unpack_from(frames, offset)
        offset += HEAD.size + length
        yield _stream(schema, frames[offset - length : offset]), count


def _stream(schema: bytes, batch: bytes) -> bytes:
    return b"".join((schema, batch, STREAM_END))


def tell_rows(
    rows: Iterable[SentBatch], tell: Callable[[Batch], None], limit: int | None, most: int | None = None
) -> tuple[int, bool]:
    """Report rows; return how many, and whether there were more than `limit`. `most`: its own LIMIT."""
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


_EVERY_SECONDS = 0.3

ReportStage = Callable[[StageProgress], None]


class ProgressWatch:
    """`look` returns the progress of the jobs with a tag."""

    def __init__(self, look: Callable[[str], StageProgress | None]) -> None:
        self._look = look
        # Threads are reused for all statements, because each has a thread in Java and a connection.
        self._threads = ThreadPoolExecutor(thread_name_prefix="progress")

    @contextmanager
    def reporting(self, tag: str, report: ReportStage) -> Iterator[None]:
        """Within the context, another thread calls `report` for each progress of the tag's jobs."""
        over = threading.Event()
        self._threads.submit(self._watch, tag, report, over)
        try:
            yield
        finally:
            over.set()

    def _watch(self, tag: str, report: ReportStage, over: threading.Event) -> None:
        last = None
        while not over.wait(_EVERY_SECONDS):
            try:
                seen = self._look(tag)
            except (Py4JError, PySparkException, OSError):
                # The Java process is ending; the caller reports that.
                return
            if seen is not None and seen != last and not over.is_set():
                report(seen)
                last = seen
