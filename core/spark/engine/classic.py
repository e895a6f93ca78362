"""Run statements on a Spark that Paimark started: Spark plans them on stand-ins, and Java sends the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

import msgspec
from msgspec import structs
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from paimark.core.errors import Refused
from paimark.core.spark.engine.insert import change_rows, insert_rows, insert_target
from paimark.core.spark.engine.orders import repair, rewrite
from paimark.core.spark.engine.planned.kept_plans import KeptPlan, PlanKey, plan_key
from paimark.core.spark.engine.planned.plans import is_session_command, pins
from paimark.core.spark.engine.planned.queries import Description, PlanMode
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.statement import Job, Runner
from paimark.core.spark.engine.warm_up import WarmUp
from paimark.core.spark.launch.session import Spark
from paimark.core.spark.launch.session_settings import DEFAULTS, WARM_UP
from paimark.core.spark.protocol import (
    ActionTask,
    Analyze,
    Ask,
    Compact,
    Repair,
    Run,
    Start,
    TaskResult,
    Write,
)
from paimark.core.spark.results.results import (
    PlannedQuery,
    ProgressWatch,
    Results,
    columns_of,
    is_presentable,
    presentable,
    tell_columns,
    tell_rows,
)
from paimark.core.spark.session_conf import bearing
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.statements.inserts import Insert, RowChange
from paimark.core.travel.statements.refused import unsupported
from paimark.core.travel.statements.shows import require_view

_SHOWS = (
    "SHOW lists DATABASES, TABLES, VIEWS, FUNCTIONS, and of a table COLUMNS, PARTITIONS, TBLPROPERTIES and "
    "CREATE TABLE; `t$snapshots` and its like are tables."
)
# Views of Spark have texts otherwise.
_KEEPS_PLAN = "spark.sql.legacy.storeAnalyzedPlanForView"


def classic_runner(launched: Spark, start: Start) -> Runner:
    """The runner of statements for a Spark that this process started."""
    session = EngineSession.begin(launched.session, start)
    results, progress = Results(launched, session.conf), ProgressWatch(session.views.queries.progress)
    backend = Classic(session, launched, results, progress)
    return Runner(session, backend)


@dataclass(frozen=True, slots=True)
class Classic:
    """The `Backend` for a Spark that this process started."""

    session: EngineSession
    launched: Spark
    results: Results
    progress: ProgressWatch

    def warm_up(self) -> WarmUp | None:
        # On a cluster, tasks would use shared resources, and could not read a local table.
        is_here = self.launched.joined is None
        if not is_here or self.launched.session.conf.get(WARM_UP, DEFAULTS[WARM_UP]) == "off":
            return None
        place = self.launched.scratch / "warm-up"
        start = Start(place.as_uri(), {}, None, {}, str(self.launched.scratch), read_only=True)

        def begin() -> Runner:
            # A separate session, so that it and the user's session don't share views and settings.
            apart = self.launched.session.newSession()
            return classic_runner(replace(self.launched, session=apart), start)

        return WarmUp(place, begin)

    def require_allowed(self, order: Run, statement: Statement) -> None:
        """Not checked here: `run` checks Spark's plan."""

    def uses(self, sql: str, now_ms: int) -> tuple[TableUse, ...]:
        return self.session.views.uses(sql, now_ms)

    def pins(self, job: Job) -> str:
        database = self.session.state.database
        self.session.views.use(database)
        return pins(job.text, ((name, table.use) for name, table in job.named.items()), database)

    @contextmanager
    def tagged(self, job: Job) -> Iterator[None]:
        with bearing(job.tag), self.progress.reporting(job.tag, job.tell):
            yield

    def interrupt(self, job: Job) -> None:
        with suppress(Py4JError, OSError):
            self.session.spark.sparkContext.cancelJobsWithTag(job.tag)
            self.session.library.stop()

    def is_gone(self) -> bool:
        return self.launched.has_ended()

    def rewrite(self, job: Job, order: ActionTask) -> Iterator[TaskResult]:
        self.session.views.queries.tag()
        if not isinstance(order, Ask):
            self.session.require_writable()
            yield _committed(self.session, order)
        elif order.streams:
            streamed = partial(self.results.streamed, tag=job.tag)
            with closing(rewrite.answers(self.session, order, streamed)) as answers:
                yield from map(TaskResult, takewhile(lambda _: not job.cancelled, answers))
        else:
            yield TaskResult(rewrite.answer(self.session, order))

    def explain(self, job: Job) -> tuple[Collection[str], str]:
        views = self.session.views
        _, description = views.describe(job.text, job.named, "explain", None, job.pins)
        if description.reads:
            of_metadata = views.read(description, job.named).of_metadata
            if of_metadata:
                return of_metadata, views.queries.explained()
        return (), views.explained(job.text, job.named, job.pins)

    def ask(self, job: Job) -> None:
        with suppress(PySparkException, Py4JError):
            # Spark raises the error again when the statement runs.
            job.description = self._describe(job, "show")

    def _describe(self, job: Job, mode: PlanMode) -> tuple[int, Description]:
        return self.session.views.describe(job.text, job.named, mode, job.order.limit, job.pins)

    def run(self, job: Job, statement: Statement, insert: Insert | RowChange | None) -> tuple[int, bool]:
        session, views = self.session, self.session.views
        if isinstance(insert, RowChange):
            return self._change(job, insert)
        shows = insert is None and not statement.writes and statement.kind != "show"
        parts = (statement, session.state.database, job.order.limit, job.named.values())
        key = plan_key(*parts) if shows else None
        if key is not None and (kept := views.queries.plans.get(key)) is not None:
            job.tell_readings([name for place, name in enumerate(job.named) if place in kept.unread])
            job.tell(kept.columns)
            views.queries.tag()
            return self._tell(job, kept, again=True)[0]
        number, description = job.description or self._describe(job, "show" if shows else "look")
        # Both the words and Spark's plan decide what is a query: each knows forms that the other doesn't.
        if statement.kind == "show" and not is_session_command(description.kind):
            raise Refused(f"{_head(statement)} is not answered here", _SHOWS)
        if (description.reads and statement.writes) or not (
            description.reads or is_session_command(description.kind)
        ):
            raise unsupported(statement)
        if insert is not None:
            return self._insert(job, insert, description.reads)
        if description.reads:
            return self._query(job, number, description, key)
        return self._command(job, statement)

    def _query(
        self, job: Job, number: int, description: Description, key: PlanKey | None
    ) -> tuple[int, bool]:
        views, is_lasting = self.session.views, description.lasting
        if not is_presentable(description.types):
            # Keep `most`: the LIMIT was removed from the plan before.
            description = structs.replace(
                views.queries.take(presentable(views.queries.frame())), most=description.most
            )
        columns = columns_of(description.types)

        def tell(of_metadata: Collection[str] = ()) -> None:
            job.tell_readings(of_metadata)
            job.tell(columns)

        if not columns.names:
            tell()
            return 0, False
        read = views.read(description, job.named, tell)
        unread = tuple(place for place, name in enumerate(job.named) if name in read.of_metadata)
        schema = self.results.schema(description.types)
        plan = KeptPlan(number, columns, schema, description.most, unread, True, read.bytes)
        told, is_small = self._tell(job, plan)
        if key is not None and is_lasting:
            views.queries.plans.put(key, plan._replace(is_small=is_small))
        return told

    def _tell(self, job: Job, plan: KeptPlan, *, again: bool = False) -> tuple[tuple[int, bool], bool]:
        """Report the rows of a plan; also return whether they were few."""
        query = PlannedQuery(self.session.views.queries, plan.number, again, plan.schema)
        rows = self.results.few(query) if plan.is_small else None
        if rows is not None:
            return tell_rows(rows, job.tell, job.order.limit, plan.most), True
        with closing(self.results.many(query, job.tag, _looked_at(job, plan.most))) as streamed:
            until_cancelled = takewhile(lambda _: not job.cancelled, streamed)
            return tell_rows(until_cancelled, job.tell, job.order.limit, plan.most), False

    def _command(self, job: Job, statement: Statement) -> tuple[int, bool]:
        session, views = self.session, self.session.views
        require_view(statement, views.is_temporary, reads_tables=bool(job.named))
        views.register(job.named, job.pins)
        try:
            with self._cached(statement):
                frame = session.spark.sql(job.text)
            session.conf.forget()
            session.state.note_zone()
            frame = presentable(frame)
            job.tell_readings()
            tell_columns(frame, job.tell)
            if not frame.schema.fields:
                return 0, False
            return tell_rows(self.results.collected(frame), job.tell, job.order.limit)
        finally:
            # The command may have changed what cached plans and settings depend on.
            views.forget()
            session.conf.forget()
            views.drop(job.named)

    @contextmanager
    def _cached(self, statement: Statement) -> Iterator[None]:
        """Let CACHE TABLE keep its plan: the rows that it keeps are of these states, not of later ones."""
        if statement.tokens[0].upper != "CACHE":
            yield
            return
        conf = self.session.spark.conf
        conf.set(_KEEPS_PLAN, "true")
        try:
            yield
        finally:
            conf.unset(_KEEPS_PLAN)

    def _insert(self, job: Job, insert: Insert, reads: bool) -> tuple[int, bool]:
        session = self.session
        assert job.order.inserting is not None
        session.require_writable()
        if not reads:
            raise insert.refused("Rows come of a query or of VALUES", "", insert.query_position)
        target = insert_target(session.warehouse, insert, session.state.database, job.order.inserting)
        frame = session.views.query(job.text, job.named, job.pins)
        made = insert_rows(session, insert, target, frame)
        fact = {
            "table": made.label,
            "snapshot_id": made.snapshot,
            "row_count": made.rows,
            "remark": made.remark,
            "unseen": made.unseen,
        }
        job.tell(TaskResult((msgspec.json.encode(fact).decode(),), made.snapshot))
        return 0, False

    def _change(self, job: Job, change: RowChange) -> tuple[int, bool]:
        assert job.order.inserting is not None
        self.session.require_writable()
        changed = change_rows(self.session, job, change, job.order.inserting)
        job.tell(TaskResult((msgspec.json.encode(changed).decode(),), changed.snapshot_id))
        return 0, False


def _committed(session: EngineSession, order: Write | Compact | Analyze | Repair) -> TaskResult:
    match order:
        case Compact():
            return rewrite.compact(session, order)
        case Analyze():
            return rewrite.analyze(session, order)
        case Repair():
            return repair.repair(session, order)
    return rewrite.write(session, order)


def _looked_at(job: Job, most: int | None) -> int | None:
    """How many rows of the result are read, None for all. `most` is the statement's own LIMIT."""
    shown = None if job.order.limit is None else job.order.limit + 1
    return min((rows for rows in (most, shown) if rows is not None), default=None)


def _head(statement: Statement) -> str:
    """The first words of the statement: what a SHOW shows."""
    return " ".join(token.upper for token in statement.tokens[:3] if token.upper)
