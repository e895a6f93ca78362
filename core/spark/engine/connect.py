"""Statements over Spark Connect: a server of somebody's runs them, and no Java process here.

Its Python, and its executors', need pypaimon and msgspec; this package is sent along. Tables are read by the
Python source and nothing is written, as all else needs what only a driver of one's own has.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors.exceptions.base import PySparkException

from core.errors import Refused, StatementFailed, Unavailable
from core.spark.datasource.scan import NO_TABLE, Scan, WarehouseAccess
from core.spark.engine.answers import answer, tell_answer
from core.spark.engine.failures import sentences
from core.spark.engine.holding_reads import HeldReads, snapshots_read
from core.spark.engine.job import Job, Tell
from core.spark.engine.session_state import SessionState
from core.spark.engine.tables import OpenedTable, explained
from core.spark.engine.views import Views
from core.spark.launch.cluster import package, require_listening
from core.spark.launch.home import pyspark_version
from core.spark.native.scans import NativeScans
from core.spark.protocol import (
    CANCELLED,
    Columns,
    Explained,
    Failed,
    Finished,
    ParentGone,
    Run,
    StageProgress,
    Start,
    Task,
)
from core.spark.results.results import in_zone, presentable, tell_rows
from core.spark.results.sender import Rows, ipc_stream
from core.storage.open import open_files
from core.travel.parse.sql import Statement, read_statement, splice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PORT = 15002
_AGAIN_SECONDS = 0.3
_PACKAGES = ("grpc", "grpc_status", "google.rpc", "zstandard")


def connect(start: Start) -> ConnectRunner:
    """Raises `Unavailable`: what is missing here, at the server, or of its Python."""
    master = str(start.master)
    if not all(map(_is_there, _PACKAGES)):
        raise Unavailable(
            "Spark Connect needs packages that are not installed here: grpcio and its like",
            "Install them with `pip install 'paimark[connect]'`.",
        )
    place = master.removeprefix("sc://").partition("/")[0]
    require_listening(master, place if ":" in place else f"{place}:{_PORT}")
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    os.environ.pop("SPARK_REMOTE", None)
    try:
        session = _session(master, start)
    except PySparkException as error:
        message, hint = sentences(str(error))
        raise Unavailable(f"{master} can't be used: {message}", hint) from error
    return ConnectRunner(session, start)


def _session(master: str, start: Start) -> SparkSession:
    from pyspark.sql import SparkSession

    from core.spark.source import PaimarkSource

    session = SparkSession.builder.remote(master).getOrCreate()
    theirs, ours = str(session.version), pyspark_version()
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise Unavailable(
            f"{master} is Spark {theirs}, and PySpark here is {ours}", f"Install pyspark {theirs} here."
        )
    settings = {"spark.sql.python.filterPushdown.enabled": "true", **start.conf}
    for name, value in settings.items():
        # What is not of a session was settled when the server started.
        if name.startswith("spark.sql."):
            session.conf.set(name, value)
    session.addArtifacts(str(package(Path(start.scratch))), pyfile=True)
    session.dataSource.register(PaimarkSource)
    # On a table without rows: whether the server's Python has what it takes.
    scan = Scan(start.warehouse, start.options, "none", "none", None, "", NO_TABLE)
    session.read.format("paimark").schema("a int").option("scan", scan.to_text()).load().collect()
    return session


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class ConnectRunner:
    """`run` in one thread; `cancel` and `end` from another."""

    def __init__(self, session: SparkSession, start: Start) -> None:
        self._session = session
        files = open_files(start.warehouse, start.options)
        self._warehouse = WarehouseAccess(files, files.uri, start.options)
        self._natives = NativeScans(session, self._warehouse)
        self._views = Views(session, self._natives)
        self._reads = HeldReads(files, start.read_only)
        self._state = SessionState(session)
        self._job: Job | None = None
        connected: Any = session
        self._client = connected.client
        self._client.register_progress_handler(self._progress)

    def warm_up(self) -> None:
        """The server is warm, or others are to blame."""

    def end(self) -> None:
        self._reads.end()

    def run(self, order: Task, tell: Tell) -> None:
        """Raises `ParentGone` when nobody listens any more; all else is told."""
        self._job = job = Job.of(order, tell)
        self._session.addTag(job.tag)
        end: Finished | Failed
        try:
            if not isinstance(order, Run) or order.inserting is not None:
                hint = "Use another --spark-master: local[*]."
                raise Refused("Nothing is written over Spark Connect", hint)
            end = self._run(job)
        except ParentGone:
            raise
        except Exception as error:
            # Whatever Spark raises ends this statement and not the engine.
            end = job.failed(error)
        finally:
            self._job = None
            self._session.removeTag(job.tag)
        tell(CANCELLED if job.cancelled else end)

    def cancel(self, number: int) -> None:
        """Stop statement `number` if it runs. Returns at once."""
        job = self._job
        if job is not None and job.order.number == number:
            job.cancelled = True
            threading.Thread(target=self._stop, args=(job,), name="cancel", daemon=True).start()

    def _stop(self, job: Job) -> None:
        while self._job is job:
            with suppress(Exception):
                # Whoever waits for the statement sees what became of the server.
                self._session.interruptTag(job.tag)
            time.sleep(_AGAIN_SECONDS)

    def _run(self, job: Job) -> Finished:
        began = time.monotonic()
        order, tell = job.order, job.tell
        self._state.settle(order)
        statement = read_statement(order.sql)
        if statement.kind == "empty":
            raise StatementFailed("There is no statement to run")
        said = answer(order.sql, self._warehouse.files, self._state.database, self._views.temporary)
        if said is not None:
            self._state.database = said.database or self._state.database
            return tell_answer(said, tell, began)
        if statement.writes or statement.kind not in ("query", "explain"):
            raise Refused("Over Spark Connect queries and EXPLAIN run, and no other statement", "")
        opened = self._open(statement)
        job.named = self._views.names(opened)
        by_use = {table.use: name for name, table in job.named.items()}
        job.spliced = splice(statement, by_use, database=self._state.database)
        for table in opened:
            tell(self._reads.reading(table))
        self._views.register(job.named)
        try:
            with self._reads.held(snapshots_read(opened), tell):
                frame = self._session.sql(job.text)
                if statement.kind == "explain":
                    tell(Explained(explained(opened, str(frame.collect()[0][0]))))
                    return Finished(0, False, time.monotonic() - began)
                sent, truncated = self._tell_rows(frame, order.limit, tell)
        finally:
            self._views.drop(job.named)
        return Finished(sent, truncated, time.monotonic() - began)

    def _open(self, statement: Statement) -> list[OpenedTable]:
        opener = self._state.opener(self._warehouse, self._natives)
        opened = (opener.open(statement.sql, use) for use in statement.uses)
        return [table for table in opened if table is not None]

    def _tell_rows(self, frame: DataFrame, limit: int | None, tell: Tell) -> tuple[int, bool]:
        """Rows told, and whether there were more than `limit`."""
        frame = presentable(frame if limit is None else frame.limit(limit + 1))
        types = tuple(each.dataType.simpleString() for each in frame.schema.fields)
        tell(Columns(tuple(frame.columns), types))
        return tell_rows(self._rows(frame), tell, limit)

    def _rows(self, frame: Any) -> Iterator[Rows]:
        """As they come."""
        plan = frame._plan.to_proto(self._client)
        for part in self._client.to_table_as_iterator(plan, frame._plan.observations):
            if isinstance(part, pa.Table):
                table = part.cast(pa.schema([in_zone(field, self._state.zone) for field in part.schema]))
                for batch in table.to_batches():
                    if batch.num_rows:
                        yield ipc_stream(batch).to_pybytes(), batch.num_rows

    def _progress(self, stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
        job = self._job
        if job is None or not stages:
            return
        tasks = sum(each.num_tasks for each in stages)
        completed = sum(each.num_completed_tasks for each in stages)
        ended = sum(each.num_completed_tasks == each.num_tasks for each in stages)
        with suppress(ParentGone):
            job.tell(StageProgress(completed, tasks, f"stage {min(ended + 1, len(stages))} of {len(stages)}"))
