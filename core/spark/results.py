"""How a data frame's rows leave Spark: collected when Spark says they are few, else through an outlet."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import CalendarIntervalType, VariantType, YearMonthIntervalType

from core.spark.outlet import Outlet
from core.spark.sender import Rows, ipc_stream, row_sender

if TYPE_CHECKING:
    from core.spark.session import Spark

SMALL_RESULT = 2_000
# These have no Arrow type that others understand; as text they have one.
_AS_TEXT = (CalendarIntervalType, VariantType, YearMonthIntervalType)
_JOB_END_SECONDS = 10.0


def frame_of(session: SparkSession, plan: Any) -> DataFrame:
    """An analysed plan of Spark's as a data frame."""
    jvm: Any = session._jvm
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)


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


def is_small(optimized: Any) -> bool:
    """Whether an optimised plan can't give more rows than are worth collecting."""
    most = optimized.maxRows()
    return bool(most.isDefined()) and int(str(most.get())) <= SMALL_RESULT


def collected(frame: DataFrame) -> Generator[Rows]:
    """All rows of a small result."""
    table = frame.toArrow()
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
    table = table.cast(pa.schema([in_zone(field, zone) for field in table.schema]))
    for batch in table.to_batches():
        yield ipc_stream(batch).to_pybytes(), batch.num_rows


def in_zone(field: pa.Field, zone: str) -> pa.Field:
    """A column of moments as one of that zone."""
    is_moment = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp("us", zone)) if is_moment else field


def streamed(frame: DataFrame, spark: Spark, tag: str) -> Generator[Rows]:
    """All rows in order while they are made. Closing the iterator ends the job, which runs under `tag`."""
    outlet = Outlet(spark.host, spark.scratch)
    names = frame.columns
    context = frame.sparkSession.sparkContext
    # Spark refuses names that are there twice, and the sender puts the right ones back.
    numbered = frame.toDF(*(f"c{index}" for index in range(len(names))))
    handed_in = numbered.mapInArrow(row_sender(outlet.address, outlet.token, names), "nothing int")

    def run_job() -> None:
        try:
            context.addJobTag(tag)
            # Gives nothing back; what it is for is that the session's settings hold while it runs.
            handed_in.collect()
        except Exception as failure:
            # The edge of a thread: whoever reads the rows raises it.
            outlet.job_ended(failure)
        else:
            outlet.job_ended(None)

    job = InheritableThread(target=run_job, name="job", daemon=True)
    job.start()
    try:
        yield from outlet.rows()
    finally:
        outlet.close()
        with suppress(Exception):
            context.cancelJobsWithTag(tag)
        job.join(_JOB_END_SECONDS)


def cut(batch: Rows, rows: int) -> Rows:
    """The first `rows` rows of a batch."""
    data, count = batch
    if count <= rows:
        return batch
    with pa.ipc.open_stream(data) as reader:
        return ipc_stream(reader.read_next_batch().slice(0, rows)).to_pybytes(), rows
