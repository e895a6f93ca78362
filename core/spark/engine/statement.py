"""Runs statements in the engine: tables resolved, text spliced, Spark asked, rows told."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import takewhile

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame

from core.cancelling import cancellable
from core.errors import Refused, StatementFailed
from core.spark.datasource.scan import NO_TABLE, Scan, WarehouseAccess
from core.spark.engine import rewrite
from core.spark.engine.answers import answer, tell_answer
from core.spark.engine.constants import Constants
from core.spark.engine.holding_reads import HeldReads, snapshots_read
from core.spark.engine.job import Job, Tell
from core.spark.engine.plans import is_session_command, is_sorted, without_limit
from core.spark.engine.session_state import SessionState
from core.spark.engine.tables import OpenedTable, explained
from core.spark.engine.views import Views
from core.spark.launch.session import Spark
from core.spark.launch.session_settings import check_setting
from core.spark.launch.workers import kill_workers
from core.spark.native.scans import NativeScans
from core.spark.protocol import (
    CANCELLED,
    Ask,
    Columns,
    Explained,
    Failed,
    Finished,
    JavaGone,
    ParentGone,
    Run,
    Start,
    Task,
    Told,
    Write,
)
from core.spark.results.progress import ProgressWatch
from core.spark.results.results import Results, is_small, presentable, tell_rows
from core.spark.writing.insert import insert_rows, target_of
from core.storage.open import open_files
from core.travel.parse.errors import SqlRefused
from core.travel.parse.sql import Statement, read_statement, splice
from core.travel.parse.tokens import tokenize
from core.travel.parse.uses import TableUse
from core.travel.statements.inserts import Insert, read_insert
from core.travel.statements.shows import created_view, require_nothing_kept

_SHOWS = (
    "SHOW lists DATABASES, TABLES, VIEWS, FUNCTIONS, and of a table COLUMNS, PARTITIONS, TBLPROPERTIES and "
    "CREATE TABLE; `t$snapshots` and its like are tables."
)
# A cancelled statement whose Python workers have not let go by then loses them.
_WORKERS_END_SECONDS = 1.0
_AGAIN_SECONDS = 0.3
_DEATH_SECONDS = 2.0


class Runner:
    """`run` in one thread; `cancel` from another."""

    def __init__(self, spark: Spark, start: Start) -> None:
        self._spark = spark
        self._session = spark.session
        self._context = spark.session.sparkContext
        files = open_files(start.warehouse, start.options)
        self._warehouse = WarehouseAccess(files, files.uri, start.options)
        self._is_read_only = start.read_only
        self._reads = HeldReads(files, start.read_only)
        self._natives = NativeScans(spark.session, self._warehouse)
        self._views = Views(spark.session, self._natives)
        self._results = Results(spark)
        self._constants = Constants(spark.session)
        self._progress = ProgressWatch(spark.session)
        for sql in start.session:
            # It went well once; a variable that it needs may be gone.
            with suppress(PySparkException):
                self._session.sql(sql)
        self._state = SessionState(self._session)
        self._job: Job | None = None
        # What each temporary view reads, by its name as `_view_key` has it.
        self._view_tables: dict[str, tuple[OpenedTable, ...]] = {}

    def run(self, order: Task, tell: Tell) -> None:
        """Raises `ParentGone` when nobody listens any more, `JavaGone` without Spark; all else is told."""
        self._job = job = Job.of(order, tell)
        end: Finished | Failed
        try:
            with cancellable(job.cancellation):
                end = self._run(job) if isinstance(order, Run) else self._rewrite(job, order)
        except ParentGone:
            raise
        except Exception as error:
            if self._is_java_gone(error):
                raise JavaGone from error
            # Whatever Spark raises ends this statement and not the engine.
            end = job.failed(error)
        finally:
            self._job = None
        tell(CANCELLED if job.cancelled else end)

    def _is_java_gone(self, error: Exception) -> bool:
        """Whether an error is of a Java process that ended: what it says then is of no use to anybody."""
        is_java_silent = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
        if is_java_silent or isinstance(error, OSError | EOFError):
            # A broken connection is noticed before the death.
            with suppress(subprocess.TimeoutExpired):
                self._spark.process.wait(_DEATH_SECONDS)
        return self._spark.process.poll() is not None

    def warm_up(self) -> None:
        """Go the way of a query once, on a table without rows: the first one is spared two seconds of it."""
        scan = Scan(str(self._spark.scratch), {}, "none", "none", None, "", NO_TABLE)
        frame = self._session.read.format("paimark").schema("a int").option("scan", scan.to_text()).load()
        with closing(self._results.streamed(frame.where("a = 1"), "paimark-warm-up")) as rows:
            for _ in rows:
                pass
        self._natives.warm_up()

    def end(self) -> None:
        """No statement goes on, whatever one is at. From any thread."""
        self._reads.end()

    def cancel(self, number: int) -> None:
        """Stop statement `number` if it runs. Returns at once."""
        job = self._job
        if job is not None and job.order.number == number:
            job.cancelled = True
            job.cancellation.cancel()
            threading.Thread(target=self._stop, args=(job,), name="cancel", daemon=True).start()

    def _stop(self, job: Job) -> None:
        """Again and again: between a look at the flag and its next Spark job a statement can't be reached."""
        began = time.monotonic()
        while self._job is job:
            with suppress(Py4JError, OSError):
                self._context.cancelJobsWithTag(job.tag)
            if time.monotonic() - began > _WORKERS_END_SECONDS:
                kill_workers(self._spark.process.pid)
            time.sleep(_AGAIN_SECONDS)

    def _rewrite(self, job: Job, order: Ask | Write) -> Finished:
        began = time.monotonic()
        sources = rewrite.Sources(self._session, self._warehouse, self._natives, self._views)
        with self._tagged(job):
            if isinstance(order, Ask):
                job.tell(Told(rewrite.answer(sources, order)))
            elif self._is_read_only:
                raise Refused("Nothing is changed in read-only mode", "Start without --read-only.")
            else:
                job.tell(Told(snapshot=rewrite.write(sources, order)))
        return Finished(0, False, time.monotonic() - began)

    @contextmanager
    def _tagged(self, job: Job) -> Iterator[None]:
        self._context.addJobTag(job.tag)
        try:
            with self._progress.reporting(job.tag, job.tell):
                yield
        finally:
            with suppress(Py4JError, OSError):
                self._context.removeJobTag(job.tag)

    def _run(self, job: Job) -> Finished:
        began = time.monotonic()
        order = job.order
        self._state.settle(order)
        statement = read_statement(order.sql)
        if statement.kind == "empty":
            raise StatementFailed("There is no statement to run")
        insert = None
        if order.inserting is not None and statement.kind in ("insert", "overwrite"):
            insert = read_insert(order.sql)
            statement = read_statement(insert.query)
        said = answer(order.sql, self._warehouse.files, self._state.database, self._views.temporary)
        if said is not None:
            if said.database is not None:
                self._state.database = said.database
            return tell_answer(said, job.tell, began)
        opened = self._open(statement)
        beneath = self._beneath(statement)
        job.named = self._views.names(opened)
        by_use = {table.use: name for name, table in job.named.items()}
        job.spliced = splice(statement, by_use, database=self._state.database)
        for table in (*opened, *beneath):
            job.tell(self._reads.reading(table))
        with self._reads.held(snapshots_read((*opened, *beneath)), job.tell), self._tagged(job):
            if statement.kind == "explain":
                return self._explain(job, began, beneath)
            view = self._new_view(order.sql)
            end = self._ask_spark(job, statement, insert, began)
            if view is not None:
                self._view_tables[view] = (*opened, *beneath)
            return end

    def _open(self, statement: Statement) -> list[OpenedTable]:
        opener = self._state.opener(self._warehouse, self._natives, self._constants.fold)
        opened = (
            opener.open(statement.sql, use)
            for use in statement.uses
            if not self._is_temporary(use, statement.sql)
        )
        return [table for table in opened if table is not None]

    def _is_temporary(self, use: TableUse, sql: str) -> bool:
        """Whether it is a view of the session. Raises `SqlRefused` for a clause behind one."""
        if not self._views.is_temporary(use.parts):
            return False
        if use.clause is not None:
            raise SqlRefused(
                f"{'.'.join(use.parts)} is a temporary view, which has no past states",
                "Put the clause behind the tables in the query that the view is made of.",
                sql,
                use.clause.span[0],
            )
        return True

    def _beneath(self, statement: Statement) -> list[OpenedTable]:
        """The tables that the statement's views were made of, as they were read then."""
        names = [_view_key(use.parts) for use in statement.uses if self._is_temporary(use, statement.sql)]
        found = (table for name in names for table in self._view_tables.get(name, ()))
        return list({table.reading: table for table in found}.values())

    def _new_view(self, sql: str) -> str | None:
        """The view that a statement makes, unless there is one that it leaves."""
        made = created_view(sql)
        if made is None or (made.keeps_old and self._views.is_temporary(made.parts)):
            return None
        return _view_key(made.parts)

    def _explain(self, job: Job, began: float, beneath: list[OpenedTable]) -> Finished:
        self._views.register(job.named)
        text = str(self._session.sql(job.text).collect()[0][0])
        for name, table in job.named.items():
            text = text.replace(name, table.label)
        self._views.drop(job.named)
        job.tell(Explained(explained((*job.named.values(), *beneath), text)))
        return Finished(0, False, time.monotonic() - began)

    def _ask_spark(self, job: Job, statement: Statement, insert: Insert | None, began: float) -> Finished:
        sql = job.text
        plan = self._session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        reads = self._views.plans.is_query(plan)
        # Queries have two judges, the words and Spark's plan: each knows forms that the other does not.
        if statement.kind == "show" and not is_session_command(plan):
            raise Refused(f"{_head(sql)} is not answered here", _SHOWS)
        if (reads and statement.writes) or not (reads or is_session_command(plan)):
            raise Refused(
                "This version reads, and writes by INSERT and ALTER TABLE, and no other statement",
                "INSERT OVERWRITE with a query of the rows that stay does what DELETE, UPDATE and MERGE do.",
            )
        if insert is not None:
            return self._insert(job, insert, reads, began)
        if reads:
            try:
                return self._tell_rows(job, self._views.planned(sql, job.named), began)
            finally:
                self._views.drop(job.named)
        check_setting(job.order.sql)
        require_nothing_kept(job.order.sql, self._views.is_temporary)
        self._views.register(job.named)
        try:
            frame = self._session.sql(sql)
            self._state.note_zone()
            return self._tell_rows(job, frame, began)
        finally:
            # A temporary view goes on using the names it was made of.
            if created_view(job.order.sql) is None:
                self._views.drop(job.named)

    def _insert(self, job: Job, insert: Insert, reads: bool, began: float) -> Finished:
        assert job.order.inserting is not None
        if self._is_read_only:
            raise Refused("Nothing is changed in read-only mode", "Start without --read-only.")
        if not reads:
            raise insert.refused("Rows come of a query or of VALUES", "", insert.query_position)
        target = target_of(self._warehouse, insert, self._state.database, job.order.inserting)
        try:
            frame = self._views.query(job.text, job.named, None)
            made = insert_rows(self._session, self._warehouse, insert, target, frame)
        finally:
            self._views.drop(job.named)
        fact = {"table": made.label, "snapshot_id": made.snapshot, "row_count": made.rows}
        job.tell(Told((msgspec.json.encode(fact).decode(),), made.snapshot))
        return Finished(0, False, time.monotonic() - began)

    def _tell_rows(self, job: Job, frame: DataFrame, began: float) -> Finished:
        limit, most = job.order.limit, None
        analyzed = frame._jdf.queryExecution().analyzed()
        if (inner := without_limit(analyzed)) is not None:
            frame, most = self._views.plans.frame(inner[0]), inner[1]
        elif limit is not None and is_sorted(analyzed):
            frame = frame.limit(limit + 1)
        frame = presentable(frame)
        fields = frame.schema.fields
        types = tuple(each.dataType.simpleString() for each in fields)
        job.tell(Columns(tuple(each.name for each in fields), types))
        if not fields:
            return Finished(0, False, time.monotonic() - began)
        looked_at = [rows for rows in (most, None if limit is None else limit + 1) if rows is not None]
        frame = self._views.reading(frame, job.named, min(looked_at, default=None))
        small = is_small(frame._jdf.queryExecution().optimizedPlan())
        rows = self._results.collected(frame) if small else self._results.streamed(frame, job.tag)
        with closing(rows):
            until_cancelled = takewhile(lambda _: not job.cancelled, rows)
            sent, truncated = tell_rows(until_cancelled, job.tell, limit, most)
        return Finished(sent, truncated, time.monotonic() - began)


def _head(sql: str) -> str:
    """The words that say what a SHOW shows."""
    return " ".join(token.upper for token in tokenize(sql)[:3] if token.upper)


def _view_key(parts: Sequence[str]) -> str:
    """One name for a view, in whichever case it is written."""
    return ".".join(parts).lower()
