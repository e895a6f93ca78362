"""Statements over a Spark of our own: Spark plans them on stand-ins, and Java hands in the rows."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame

from core.errors import Refused
from core.spark.engine import rewrite
from core.spark.engine.constants import Constants
from core.spark.engine.plans import is_session_command, is_sorted, without_limit
from core.spark.engine.session_state import EngineSession
from core.spark.engine.statement import Job, Runner
from core.spark.engine.views import empty_frame
from core.spark.idle_work.warm_up import WarmUp
from core.spark.launch.session import Spark
from core.spark.launch.session_settings import WARM_UP, check_setting
from core.spark.launch.workers import kill_workers
from core.spark.protocol import Ask, Run, Start, Told, Write
from core.spark.results.progress import ProgressWatch
from core.spark.results.results import Results, is_small, presentable, tell_columns, tell_rows
from core.spark.writing.insert import insert_rows, target_of
from core.travel.parse.uses import Statement
from core.travel.source import TimeFolder
from core.travel.statements.inserts import Insert
from core.travel.statements.shows import created_view, require_nothing_kept

_SHOWS = (
    "SHOW lists DATABASES, TABLES, VIEWS, FUNCTIONS, and of a table COLUMNS, PARTITIONS, TBLPROPERTIES and "
    "CREATE TABLE; `t$snapshots` and its like are tables."
)
# A cancelled statement whose Python workers have not let go by then loses them.
_WORKERS_END_SECONDS = 1.0
_DEATH_SECONDS = 2.0


def classic_runner(launched: Spark, start: Start) -> Runner:
    """Runs the statements of a Spark that was started here."""
    session, spark = EngineSession.begin(launched.session, start), launched.session
    backend = Classic(session, launched, Results(launched), Constants(spark), ProgressWatch(spark))
    return Runner(session, backend)


@dataclass(frozen=True, slots=True)
class Classic:
    """A `Backend`."""

    session: EngineSession
    launched: Spark
    results: Results
    constants: Constants
    progress: ProgressWatch

    @property
    def fold(self) -> TimeFolder:
        return self.constants.fold

    def warm_up(self) -> WarmUp | None:
        if self.launched.session.conf.get(WARM_UP, "on") == "off":
            return None
        place = self.launched.scratch / "warm-up"
        start = Start(place.as_uri(), {}, None, {}, str(self.launched.scratch), read_only=True)

        def begin() -> Runner:
            # Of its own: no view or setting of the user's is met there, and none of its own is left here.
            apart = self.launched.session.newSession()
            return classic_runner(replace(self.launched, session=apart), start)

        # On a cluster the tasks would be other people's, and the table out of their reach.
        is_here = self.launched.joined is None
        return WarmUp(place, begin if is_here else None, self._start_workers)

    def _start_workers(self) -> None:
        frame = empty_frame(self.session.spark, str(self.launched.scratch), {})
        with closing(self.results.streamed(frame.where("a = 1"), "paimark-warm-up")) as rows:
            for _ in rows:
                pass

    def require_allowed(self, order: Run, statement: Statement) -> None:
        """Spark's own plan tells, in `run`."""

    @contextmanager
    def tagged(self, job: Job) -> Iterator[None]:
        context = self.session.spark.sparkContext
        context.addJobTag(job.tag)
        try:
            with self.progress.reporting(job.tag, job.tell):
                yield
        finally:
            with suppress(Py4JError, OSError):
                context.removeJobTag(job.tag)

    def interrupt(self, job: Job, seconds: float) -> None:
        with suppress(Py4JError, OSError):
            self.session.spark.sparkContext.cancelJobsWithTag(job.tag)
        if seconds > _WORKERS_END_SECONDS:
            kill_workers(self.launched.process.pid)

    def is_gone(self, error: Exception) -> bool:
        process = self.launched.process
        is_java_silent = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
        if is_java_silent or isinstance(error, OSError | EOFError):
            # A broken connection is noticed before the death.
            with suppress(subprocess.TimeoutExpired):
                process.wait(_DEATH_SECONDS)
        return process.poll() is not None

    def rewrite(self, job: Job, order: Ask | Write) -> Iterator[Told]:
        if isinstance(order, Write):
            self.session.require_writable()
            yield Told(snapshot=rewrite.write(self.session, order))
        elif order.streams:
            streamed = partial(self.results.streamed, tag=job.tag)
            with closing(rewrite.answers(self.session, order, streamed)) as answers:
                yield from map(Told, takewhile(lambda _: not job.cancelled, answers))
        else:
            yield Told(rewrite.answer(self.session, order))

    def explain(self, job: Job) -> tuple[Collection[str], str]:
        views, of_metadata = self.session.views, list[str]()
        explain = views.plans.explained(job.text)
        if explain is not None:
            try:
                frame = views.planned(explain.logicalPlan(), job.named)
                read = views.reading(frame, job.named, None, of_metadata.extend)
                if of_metadata:
                    return of_metadata, str(read._jdf.queryExecution().explainString(explain.mode()))
            finally:
                views.drop(job.named)
        return (), views.explained(job.text, job.named)

    def run(self, job: Job, statement: Statement, insert: Insert | None) -> tuple[int, bool]:
        session, views = self.session, self.session.views
        plan = session.spark._jsparkSession.sessionState().sqlParser().parsePlan(job.text)
        reads = views.plans.is_query(plan)
        # Queries have two judges, the words and Spark's plan: each knows forms that the other does not.
        if statement.kind == "show" and not is_session_command(plan):
            raise Refused(f"{_head(statement)} is not answered here", _SHOWS)
        if (reads and statement.writes) or not (reads or is_session_command(plan)):
            raise Refused(
                "This version reads, and writes by INSERT and ALTER TABLE, and no other statement",
                "INSERT OVERWRITE with a query of the rows that stay does what DELETE, UPDATE and MERGE do.",
            )
        if insert is not None:
            return self._insert(job, insert, reads)
        if reads:
            try:
                return self._tell_rows(job, views.planned(job.text, job.named))
            finally:
                views.drop(job.named)
        check_setting(statement)
        require_nothing_kept(statement, views.is_temporary)
        views.register(job.named)
        try:
            frame = session.spark.sql(job.text)
            session.state.note_zone()
            return self._tell_rows(job, frame)
        finally:
            # A temporary view goes on using the names it was made of.
            if created_view(statement) is None:
                views.drop(job.named)

    def _insert(self, job: Job, insert: Insert, reads: bool) -> tuple[int, bool]:
        session = self.session
        assert job.order.inserting is not None
        session.require_writable()
        if not reads:
            raise insert.refused("Rows come of a query or of VALUES", "", insert.query_position)
        target = target_of(session.warehouse, insert, session.state.database, job.order.inserting)
        try:
            frame = session.views.query(job.text, job.named, None)
            made = insert_rows(session.spark, session.warehouse, insert, target, frame)
        finally:
            session.views.drop(job.named)
        fact = {"table": made.label, "snapshot_id": made.snapshot, "row_count": made.rows}
        job.tell(Told((msgspec.json.encode(fact).decode(),), made.snapshot))
        return 0, False

    def _tell_rows(self, job: Job, frame: DataFrame) -> tuple[int, bool]:
        views, limit, most = self.session.views, job.order.limit, None
        analyzed = frame._jdf.queryExecution().analyzed()
        if (inner := without_limit(analyzed)) is not None:
            frame, most = views.plans.frame(inner[0]), inner[1]
        elif limit is not None and is_sorted(analyzed):
            frame = frame.limit(limit + 1)
        frame = presentable(frame)

        def tell(of_metadata: Collection[str] = ()) -> None:
            job.tell_readings(of_metadata)
            tell_columns(frame, job.tell)

        if not frame.schema.fields:
            tell()
            return 0, False
        looked_at = [rows for rows in (most, None if limit is None else limit + 1) if rows is not None]
        enough = min(looked_at, default=None)
        read = views.reading(frame, job.named, enough, tell)
        small = is_small(read._jdf.queryExecution().optimizedPlan())
        rows = self.results.collected(read) if small else self.results.streamed(read, job.tag, enough)
        with closing(rows):
            until_cancelled = takewhile(lambda _: not job.cancelled, rows)
            return tell_rows(until_cancelled, job.tell, limit, most)


def _head(statement: Statement) -> str:
    """The words that say what a SHOW shows."""
    return " ".join(token.upper for token in statement.tokens[:3] if token.upper)
