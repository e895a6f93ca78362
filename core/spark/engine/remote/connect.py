"""Run statements over Spark Connect: an existing server runs them, without a Java process here.

The Python of the server and of its executors needs pypaimon and msgspec; this package is sent there. Tables
are read by the Python source, and nothing is written, because all else needs a driver on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.errors.exceptions.base import PySparkException

from paimark.core.errors import Refused, Unavailable
from paimark.core.spark.arrow import in_zone, ipc_stream
from paimark.core.spark.engine.failures import sentences
from paimark.core.spark.engine.remote.needed import UNCUT, needed
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.statement import Job, Runner
from paimark.core.spark.engine.views import empty_frame
from paimark.core.spark.launch.cluster import package
from paimark.core.spark.launch.home import pyspark_version
from paimark.core.spark.launch.masters.masters import require_listening
from paimark.core.spark.native.needs import ViewNeeds
from paimark.core.spark.protocol import Ask, ParentGone, Run, StageProgress, Start, Write
from paimark.core.spark.results.results import presentable, tell_columns, tell_rows
from paimark.core.spark.results.sender import SentBatch
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.inserts import Insert
from paimark.core.travel.statements.row_changes import RowChange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PORT = 15002
_PACKAGES = ("grpc", "grpc_status", "google.rpc", "zstandard")


def connect(start: Start) -> Runner:
    """Connect to a server. Raises `Unavailable` if anything is missing here, there, or in its Python."""
    master = str(start.master)
    if not all(map(_is_there, _PACKAGES)):
        raise Unavailable(
            "Spark Connect needs packages that are not installed here: grpcio and its like",
            "Install them with `pip install 'paimark[connect]'`.",
        )
    server = master.removeprefix("sc://").partition("/")[0]
    require_listening(master, server if ":" in server else f"{server}:{_PORT}")
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    os.environ.pop("SPARK_REMOTE", None)
    try:
        spark = _connected(master, start)
    except PySparkException as error:
        message, hint = sentences(str(error))
        raise Unavailable(f"{master} can't be used: {message}", hint) from error
    session = EngineSession.begin(spark, start)
    return Runner(session, Connect(session))


def _connected(master: str, start: Start) -> SparkSession:
    from pyspark.sql import SparkSession

    from paimark.core.spark.source import PaimarkSource

    spark = SparkSession.builder.remote(master).getOrCreate()
    theirs, ours = str(spark.version), pyspark_version()
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise Unavailable(
            f"{master} is Spark {theirs}, and PySpark here is {ours}", f"Install pyspark {theirs} here."
        )
    settings = {"spark.sql.python.filterPushdown.enabled": "true", **UNCUT, **start.conf}
    for name, value in settings.items():
        # Other settings were fixed when the server started.
        if name.startswith("spark.sql."):
            spark.conf.set(name, value)
    spark.addArtifacts(str(package(Path(start.scratch))), pyfile=True)
    spark.dataSource.register(PaimarkSource)
    # Read a table without rows, to check that the server's Python has the packages.
    empty_frame(spark, start.warehouse, start.options).collect()
    return spark


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@dataclass(frozen=True, slots=True)
class Connect:
    """The `Backend` for a server over Spark Connect."""

    session: EngineSession

    @property
    def fold(self) -> None:
        return None

    def warm_up(self) -> None:
        """None: the server has been running before."""

    def require_allowed(self, order: Run, statement: Statement) -> None:
        if order.inserting is not None:
            raise _no_writing()
        if statement.writes or statement.kind not in ("query", "explain"):
            raise Refused("Over Spark Connect queries and EXPLAIN run, and no other statement", "")

    @contextmanager
    def tagged(self, job: Job) -> Iterator[None]:
        spark, client, listen = self.session.spark, self._client, partial(_tell_progress, job)
        client.register_progress_handler(listen)
        spark.addTag(job.tag)
        try:
            yield
        finally:
            spark.removeTag(job.tag)
            client.remove_progress_handler(listen)

    def interrupt(self, job: Job, seconds: float) -> None:
        with suppress(Exception):
            # The thread that waits for the statement reports errors of the server.
            self.session.spark.interruptTag(job.tag)

    def is_gone(self) -> bool:
        """There is no Java process."""
        return False

    def explain(self, job: Job) -> tuple[Collection[str], str]:
        return (), self.session.views.explained(job.text, job.named)

    def rewrite(self, job: Job, order: Ask | Write) -> NoReturn:
        raise _no_writing()

    def ask(self, job: Job) -> None:
        """Nothing to do: opening tables takes no time here."""

    def run(self, job: Job, statement: Statement, insert: Insert | RowChange | None) -> tuple[int, bool]:
        limit, views = job.order.limit, self.session.views
        job.tell_readings()
        needs: dict[str, ViewNeeds] = {}
        try:
            with suppress(PySparkException):
                # Spark raises the error again below.
                needs = needed(self.session.spark, job.text, job.named)
            views.register(job.named, needs)
            frame = self.session.spark.sql(job.text)
            frame = presentable(frame if limit is None else frame.limit(limit + 1))
            tell_columns(frame, job.tell)
            return tell_rows(self._rows(frame), job.tell, limit)
        finally:
            views.drop(job.named)

    @property
    def _client(self) -> Any:
        connected: Any = self.session.spark
        return connected.client

    def _rows(self, frame: Any) -> Iterator[SentBatch]:
        """Yield rows as they arrive."""
        plan = frame._plan.to_proto(self._client)
        for part in self._client.to_table_as_iterator(plan, frame._plan.observations):
            if isinstance(part, pa.Table):
                zone = self.session.state.zone
                table = part.cast(pa.schema([in_zone(field, zone) for field in part.schema]))
                for batch in table.to_batches():
                    if batch.num_rows:
                        yield ipc_stream(batch), batch.num_rows


def _no_writing() -> Refused:
    return Refused("Nothing is written over Spark Connect", "Use another --spark-master: local[*].")


def _tell_progress(job: Job, stages: Any, inflight_tasks: int, operation_id: str, done: bool) -> None:
    if not stages:
        return
    tasks = sum(each.num_tasks for each in stages)
    completed = sum(each.num_completed_tasks for each in stages)
    ended = sum(each.num_completed_tasks == each.num_tasks for each in stages)
    with suppress(ParentGone):
        job.tell(StageProgress(completed, tasks, f"stage {min(ended + 1, len(stages))} of {len(stages)}"))
