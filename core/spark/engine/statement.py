"""Run statements in the engine: resolve tables, let Spark run the statement, report rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from msgspec.structs import replace

from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import PaimarkError, StatementFailed
from paimark.core.spark.engine.answers import OfSession, answer, tell_answer
from paimark.core.spark.engine.failures import failed, of_partition
from paimark.core.spark.engine.hints import helped
from paimark.core.spark.engine.holding_reads import HeldReads, versions_read
from paimark.core.spark.engine.planned.queries import Description
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.tables import OpenedTable, Opener, explained
from paimark.core.spark.engine.warm_up import WarmUp
from paimark.core.spark.protocol import (
    CANCELLED,
    LISTED,
    ActionTask,
    Batch,
    Explained,
    Failed,
    Finished,
    JavaGone,
    ParentGone,
    Reading,
    Report,
    Run,
    Task,
    TaskResult,
)
from paimark.core.spark.writing.retries import on_newest, tried
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.statements.inserts import COMMANDS, Insert, RowChange, read_change, read_insert
from paimark.core.travel.statements.refused import require_rows_of_files

T = TypeVar("T")
_AGAIN_SECONDS = 0.3
Tell = Callable[[Report | Batch], None]


class Beside:
    """One permanent thread: Java starts a thread of its own for each Python thread that calls it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")

    def run(self, function: Callable[[], T], meanwhile: Callable[[], None]) -> T:
        """Run both, and wait for both. Raises the error of `function`, else that of `meanwhile`."""
        call = self._thread.submit(copy_context().run, function)
        try:
            meanwhile()
        finally:
            made = call.result()
        return made


@dataclass(slots=True)
class Job:
    """The running statement. `uses` are its tables as written, `named` those of ours under names for Spark,
    which `pins` put into its plan; `tag` is the tag of its Spark jobs. `description` has the query's number
    too; set if Spark planned the query while its tables were being opened."""

    order: Run
    tell: Tell
    tag: str
    cancelled: bool = False
    # Others committed before it could, and it changes rows of a later snapshot than its plan saw.
    is_again: bool = False
    cancellation: Cancellation = field(default_factory=Cancellation)
    text: str = ""
    uses: Sequence[TableUse] = ()
    named: Mapping[str, OpenedTable] = field(default_factory=dict)
    pins: str = ""
    description: tuple[int, Description] | None = None
    # By the table's name in Spark.
    untold: Sequence[tuple[str, Reading]] = ()

    @classmethod
    def of(cls, order: Task, tell: Tell) -> Job:
        statement = order if isinstance(order, Run) else Run(order.number, getattr(order, "sql", ""))
        return cls(statement, tell, f"paimark-{order.number}")

    def tell_readings(self, of_metadata: Collection[str] = ()) -> None:
        """Report, once, how each table is read; `of_metadata` are names of tables whose files aren't read."""
        readings, self.untold = self.untold, ()
        for name, reading in readings:
            self.tell(replace(reading, scan=LISTED) if name in of_metadata else reading)

    def failed(self, error: Exception) -> Failed:
        """Describe an error, with its position in the statement as it was written."""
        names = {name: table.label for name, table in self.named.items()}
        told = failed(error, self.text or self.order.sql, names)
        schemas = (table.scan.table_schema for table in self.named.values() if table.scan is not None)
        return of_partition(told, schemas)


class Backend(Protocol):
    """The operations that differ between Paimark's own Spark (`paimark.core.spark.engine.classic`) and one
    over Connect (`paimark.core.spark.engine.connect`)."""

    def warm_up(self) -> WarmUp | None:
        """Work that makes the first statement faster; None if there is none."""

    def require_allowed(self, order: Run, statement: Statement) -> None:
        """Check a statement before its tables are resolved. Raises `Refused` if it is not supported."""

    def uses(self, sql: str, now_ms: int) -> tuple[TableUse, ...]:
        """The tables of a statement, by one parse. Raises `SqlRefused`, and Spark's errors."""

    def pins(self, job: Job) -> str:
        """What puts the states of the job's tables into Spark's plan; makes its database the current one."""

    def tagged(self, job: Job) -> AbstractContextManager[None]:
        """Within the context, Spark's jobs have the job's tag, and their progress is reported."""

    def interrupt(self, job: Job) -> None:
        """Stop the jobs with the job's tag."""

    def is_gone(self) -> bool:
        """Whether the Java process has ended. The message of an error is useless then."""

    def ask(self, job: Job) -> None:
        """Let Spark plan a query while its tables are being opened. `run` raises the errors of planning."""

    def run(self, job: Job, statement: Statement, insert: Insert | RowChange | None) -> tuple[int, bool]:
        """Let Spark run it; return the number of reported rows, and whether there were more.

        For an `Insert`, `statement` is its query. Before the first rows, the job reports how tables are read.
        """

    def explain(self, job: Job) -> tuple[Collection[str], str]:
        """The names of the tables that metadata answer, and Spark's plan of the explained statement."""

    def rewrite(self, job: Job, order: ActionTask) -> Iterable[TaskResult]:
        """Do an action's order."""


class Runner:
    """Runs statements. `run` is for one thread; `cancel` and `end` are for others."""

    def __init__(self, session: EngineSession, backend: Backend) -> None:
        self._session = session
        self._backend = backend
        self._reads = HeldReads(session.warehouse.files, session.is_read_only)
        self._job: Job | None = None
        self._beside = Beside()

    def warm_up(self) -> WarmUp | None:
        return self._backend.warm_up()

    def run(self, order: Task, tell: Tell) -> None:
        """Run an order, and report its end, also an error. Raises `ParentGone` and `JavaGone`."""
        self._job = job = Job.of(order, tell)
        end: Finished | Failed
        try:
            with cancellable(job.cancellation):
                if isinstance(order, Run):
                    end = tried(lambda: self._run(job), lambda: self._moves_on(job))
                else:
                    end = self._rewrite(job, order)
        except ParentGone:
            raise
        except Exception as error:
            # An error of Spark's ends this statement, but not the engine.
            end = self._failed(job, error)
        finally:
            self._job = None
        tell(CANCELLED if job.cancelled else end)

    def _failed(self, job: Job, error: Exception) -> Failed:
        """Describe an error. Raises `JavaGone` if Java is gone, or ends while it is asked about the error."""
        self._require_java(error)
        try:
            return self._helped(job.failed(error), job)
        except Exception as another:
            self._require_java(another)
            raise

    def _require_java(self, error: Exception) -> None:
        """Raises `JavaGone`, with the error as its cause, if the Java process is gone."""
        if self._backend.is_gone():
            raise JavaGone from error

    def _helped(self, end: Failed, job: Job) -> Failed:
        session = self._session
        # An error in the search for better words must not hide the statement's own error.
        with suppress(PaimarkError):
            statement = read_statement(job.order.sql)
            return helped(end, statement, job.uses, session.warehouse.files, session.state.database)
        return end

    def end(self) -> None:
        """End the protection of the running statement's reads. Any thread may call this."""
        self._reads.end()

    def cancel(self, number: int) -> None:
        """Stop statement `number` if it is running. Returns at once."""
        job = self._job
        if job is not None and job.order.number == number:
            job.cancelled = True
            job.cancellation.cancel()
            threading.Thread(target=self._stop, args=(job,), name="cancel", daemon=True).start()

    def _stop(self, job: Job) -> None:
        """Interrupt repeatedly: a statement that has just checked the flag may still start a Spark job."""
        while self._job is job:
            self._backend.interrupt(job)
            time.sleep(_AGAIN_SECONDS)

    def _rewrite(self, job: Job, order: ActionTask) -> Finished:
        self._session.natives.renew_keys()
        with self._backend.tagged(job):
            for result in self._backend.rewrite(job, order):
                job.tell(result)
        return Finished(0, False)

    def _moves_on(self, job: Job) -> bool:
        order = on_newest(self._session.warehouse.files, job.order)
        if order is not None:
            job.order, job.is_again = order, True
        return order is not None

    def _run(self, job: Job) -> Finished:
        session, order = self._session, job.order
        session.state.database = order.database
        statement = read_statement(order.sql)
        insert: Insert | RowChange | None = None
        if statement.kind == "empty":
            raise StatementFailed("There is no statement to run")
        views = session.views
        of_session = OfSession(views.temporary, views.of_all_sessions, views.lacks, session.conf.get)
        answered = answer(statement, session.warehouse.files, session.state.database, of_session)
        if answered is not None:
            return tell_answer(answered, job.tell)
        self._backend.require_allowed(order, statement)
        if order.inserting is not None and statement.kind in ("insert", "overwrite"):
            insert = read_insert(statement)
            statement = read_statement(insert.query)
        elif order.inserting is not None and statement.kind in COMMANDS:
            insert = read_change(statement)
        opener = session.opener()
        job.text = statement.sql
        resolved = self._resolved(opener, job, statement, order.differing)
        # Only now: the store may have refused the earlier keys when the tables were resolved.
        session.natives.renew_keys()
        job.named = session.views.names(resolved)
        job.pins = self._backend.pins(job)
        with self._backend.tagged(job):
            job.named = self._opened(opener, job, is_asked=statement.kind == "query" and insert is None)
            job.untold = [(name, self._reads.reading(table)) for name, table in job.named.items()]
            with self._reads.held(versions_read(tuple(job.named.values())), job.tell):
                return self._done(job, statement, insert)

    def _done(self, job: Job, statement: Statement, insert: Insert | RowChange | None) -> Finished:
        if statement.kind == "explain":
            self._explain(job)
            return Finished(0, False)
        try:
            return Finished(*self._backend.run(job, statement, insert))
        finally:
            job.tell_readings()

    def _resolved(
        self, opener: Opener, job: Job, statement: Statement, is_difference: bool
    ) -> list[OpenedTable]:
        """The statement's tables, those of its views among them."""
        job.uses = self._backend.uses(job.text, opener.now_ms)
        resolved: list[OpenedTable] = []
        for use in job.uses:
            if use.is_view:
                _require_present(statement, use)
            elif (table := opener.resolve(statement.sql, use)) is not None:
                resolved.append(table)
        if resolved:
            require_rows_of_files(statement)
        return opener.differing(resolved) if is_difference else resolved

    def _opened(self, opener: Opener, job: Job, *, is_asked: bool) -> dict[str, OpenedTable]:
        """Open the job's tables, by name. With `is_asked`, Spark plans the query while metadata are read."""

        def opened() -> dict[str, OpenedTable]:
            return {name: opener.open(table) for name, table in job.named.items()}

        if not is_asked or all(map(opener.is_open, job.named.values())):
            return opened()
        return self._beside.run(opened, lambda: self._backend.ask(job))

    def _explain(self, job: Job) -> None:
        of_metadata, text = self._backend.explain(job)
        for name, table in job.named.items():
            text = text.replace(name, table.label)
        job.tell_readings(of_metadata)
        lines = [table.unread if name in of_metadata else table for name, table in job.named.items()]
        names = self._session.views.looked_up(job.text, job.named, job.pins).difference(of_metadata)
        job.tell(Explained(explained(lines, text, [job.named[name] for name in names])))


def _require_present(statement: Statement, view: TableUse) -> None:
    """Raises `SqlRefused` for a time-travel clause after a view."""
    if view.clause is not None:
        raise statement.refused(
            f"{'.'.join(view.parts)} is a temporary view, which has no past states",
            "Put the clause behind the tables in the query that the view is made of.",
            view.clause.start,
        )
