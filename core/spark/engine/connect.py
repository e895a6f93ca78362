"""Run statements over Spark Connect: an existing server runs them, without a Java process here.

The server's Spark has our tables as a catalog, by `LakeCatalog.java`: it needs the engine's jar and Paimon's
library, and reaches the warehouse by its own settings. Nothing is written, because that needs a driver on
this machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.errors.exceptions.base import PySparkException

from paimark.core.errors import Refused, Unavailable
from paimark.core.quoting import quoted
from paimark.core.spark.arrow import in_zone, ipc_stream
from paimark.core.spark.engine.failures import sentences
from paimark.core.spark.engine.planned.plans import pins, read_uses
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.statement import Job, Runner
from paimark.core.spark.launch.home import pyspark_version
from paimark.core.spark.launch.masters import require_listening
from paimark.core.spark.launch.settings import CATALOG_CLASS, CATALOG_NAME
from paimark.core.spark.library.catalog_settings import (
    EXTENSIONS,
    LAKE_CATALOG,
    LAKE_EXTENSIONS,
    jars_to_give,
)
from paimark.core.spark.protocol import ActionTask, ParentGone, Run, StageProgress, Start
from paimark.core.spark.results.results import presentable, tell_columns, tell_rows
from paimark.core.spark.results.row_server import SentBatch
from paimark.core.spark.stores.settings import hadoop_address
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.statements.inserts import Insert, RowChange

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PORT = 15002
_PACKAGES = ("grpc", "grpc_status", "google.rpc", "zstandard")
# What the server's Java says where a class is missing.
_LACKS = (LAKE_CATALOG, "org/apache/paimon", "org.apache.paimon")
# The setting with which the server's parser pins tables: `ClauseParser.java`.
_PINS = "paimark.pins"


def connect(start: Start) -> Runner:
    """Connect to a server. Raises `Unavailable` if anything is missing here or there."""
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

    spark = SparkSession.builder.remote(master).getOrCreate()
    theirs, ours = str(spark.version), pyspark_version()
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise Unavailable(
            f"{master} is Spark {theirs}, and PySpark here is {ours}", f"Install pyspark {theirs} here."
        )
    warehouse = {
        CATALOG_CLASS: LAKE_CATALOG,
        f"{CATALOG_CLASS}.warehouse": hadoop_address(start.warehouse, start.options),
        f"{CATALOG_CLASS}.read-only": "true",
    }
    for name, value in {**start.conf, **warehouse}.items():
        # Other settings were fixed when the server started.
        if name.startswith("spark.sql."):
            spark.conf.set(name, value)
    if LAKE_EXTENSIONS not in (spark.conf.get(EXTENSIONS, "") or ""):
        raise _lacking(master, start)
    try:
        # The server lists the warehouse, to check that it has the catalog and reaches the files.
        spark.sql(f"SHOW NAMESPACES IN {CATALOG_NAME}").collect()
    except PySparkException as error:
        if not any(name in str(error) for name in _LACKS):
            raise
        raise _lacking(master, start) from error
    return spark


def _lacking(master: str, start: Start) -> Unavailable:
    return Unavailable(
        f"The Spark at {master} has no catalog of Paimark's tables: it lacks the jars, or their extension",
        f"Start the server with --conf {EXTENSIONS}={LAKE_EXTENSIONS} "
        f"--conf spark.jars={jars_to_give(start.options)}",
    )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class Connect:
    """The `Backend` for a server over Spark Connect."""

    def __init__(self, session: EngineSession) -> None:
        self.session = session
        self._database: str | None = ""

    def warm_up(self) -> None:
        """None: the server has been running before."""

    def require_allowed(self, order: Run, statement: Statement) -> None:
        if order.inserting is not None:
            raise _no_writing()
        if statement.writes or statement.kind not in ("query", "explain"):
            raise Refused("Over Spark Connect queries and EXPLAIN run, and no other statement", "")

    def uses(self, sql: str, now_ms: int) -> tuple[TableUse, ...]:
        asked = f"SELECT {CATALOG_NAME}.statement_uses(?, {now_ms}L)"
        return read_uses(sql, str(self.session.spark.sql(asked, [sql]).collect()[0][0]))

    def pins(self, job: Job) -> str:
        spark, database = self.session.spark, self.session.state.database
        if database != self._database:
            chosen = CATALOG_NAME if database is None else f"{CATALOG_NAME}.{quoted(database)}"
            spark.sql(f"USE {chosen}")
            self._database = database
        states = [(table.version, table.use) for table in job.named.values() if table.version]
        made = pins(job.text, states, database)
        spark.conf.set(_PINS, made)
        return made

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

    def interrupt(self, job: Job) -> None:
        with suppress(Exception):
            # The thread that waits for the statement reports errors of the server.
            self.session.spark.interruptTag(job.tag)

    def is_gone(self) -> bool:
        """There is no Java process."""
        return False

    def explain(self, job: Job) -> tuple[Collection[str], str]:
        return (), str(self.session.spark.sql(job.text).collect()[0][0])

    def rewrite(self, job: Job, order: ActionTask) -> NoReturn:
        raise _no_writing()

    def ask(self, job: Job) -> None:
        """Nothing to do: opening tables takes no time here."""

    def run(self, job: Job, statement: Statement, insert: Insert | RowChange | None) -> tuple[int, bool]:
        limit = job.order.limit
        job.tell_readings()
        frame = self.session.spark.sql(job.text)
        frame = presentable(frame if limit is None else frame.limit(limit + 1))
        tell_columns(frame, job.tell)
        return tell_rows(self._rows(frame), job.tell, limit)

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
