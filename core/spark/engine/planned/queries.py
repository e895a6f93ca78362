"""Let Spark parse and plan statements: the Python side of `scans/Queries.java`.

Any call to Java takes 0.2 ms, so a query is planned in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from paimark.core.once import once_for_all
from paimark.core.spark.engine.planned.kept_plans import KeptPlans
from paimark.core.spark.engine.planned.plans import VIEW_KEY
from paimark.core.spark.java.objects import new_instance
from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.spark.native.conditions import ViewNeeds
from paimark.core.spark.protocol import StageProgress
from paimark.core.spark.session_conf import job_tag

# look: parse only. plan: plan the query unchanged. show: plan it to show rows; its LIMIT becomes `most`, and
# leaves the plan. explain: plan the query that an EXPLAIN explains.
PlanMode = Literal["look", "plan", "show", "explain"]


class Description(msgspec.Struct, frozen=True):
    """Spark's description of a statement. `kind` is the class of its plan. `reads`: it only computes rows.

    If it was planned, `columns` is a schema in JSON, and `needs` are those of its tables, by place.
    `lasting`: it gives the same rows whenever its tables are the same. For a frame it has columns and needs.
    """

    kind: str = ""
    reads: bool = True
    columns: str = ""
    most: int | None = None
    lasting: bool = False
    needs: Mapping[str, ViewNeeds] = {}

    @property
    def types(self) -> StructType:
        return StructType.fromJson(msgspec.json.decode(self.columns))


class StandIn(msgspec.Struct, frozen=True, array_like=True):
    """A table without rows that stands for one of ours. `columns` is a schema in JSON.

    `label` is its name for people.
    """

    name: str
    place: str
    columns: str
    label: str


_names = msgspec.json.Decoder(list[str])
# Of the values in conditions, only decimals have an exponent.
_decoder = msgspec.json.Decoder(Description, float_hook=Decimal)


class Queries:
    """The queries in Java. The last one is the current one; of earlier ones Java keeps only `plans`."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._number = 0
        # Java frames of the current query's tables that were not sent to Java yet, by place.
        self._unsent_tables: dict[str, Any] = {}
        self.plans = KeptPlans()

    def tag(self) -> None:
        """Set the statement's tag on this thread's Spark jobs, as `describe` does."""
        self.java.tag(job_tag())

    def views(self, database: str, *, of_all: bool) -> list[str]:
        """The names of the session's temporary views, or of those in the `database` that all sessions see."""
        return _names.decode(self.java.views(database, of_all))

    def uses(self, text: str, now_ms: int) -> str:
        """The tables of a statement, and the clauses behind them: `clauses/Uses.java`."""
        return str(self.java.uses(text, now_ms))

    def progress(self, tag: str) -> StageProgress | None:
        """The progress of the jobs with the tag. Any thread may call this."""
        stages, stages_done, tasks, done = map(int, self.java.progress(tag).split())
        if not stages:
            return None
        return StageProgress(done, tasks, f"stage {min(stages_done + 1, stages)} of {stages}")

    def describe(
        self, text: str, mode: PlanMode, stand_ins: Iterable[StandIn], limit: int | None, pins: str = ""
    ) -> tuple[int, Description]:
        """Parse or plan a statement; return its number and description.

        `limit` is how many rows will be shown, None for all. `pins` name the states of its tables.
        """
        self._number += 1
        self._unsent_tables.clear()
        tables = msgspec.json.encode(list(stand_ins)).decode()
        numbers = msgspec.json.encode(self.plans.numbers).decode()
        most = -1 if limit is None else limit
        description = self.java.planQuery(text, mode, most, tables, self._number, numbers, job_tag(), pins)
        return self._number, _decoder.decode(description)

    def take(self, frame: DataFrame) -> Description:
        """Replace the current query by a frame."""
        return _decoder.decode(self.java.replaceFrame(frame._jdf))

    def put(self, place: str, table: DataFrame) -> None:
        """Set the frame of one of the current query's tables."""
        self._unsent_tables[place] = table._jdf

    def frame(self) -> DataFrame:
        """The frame of the current query, with its tables."""
        self.send_tables()
        return DataFrame(self.java.frame(), self._session)

    def few(self, results: Any, number: int, before: bool, most: int) -> bytes | None:
        """The rows of query `number` from `ResultRows` in Java; None if they may be more than `most`.

        `before`: the query has run before.
        """
        # One table is sent with this call, because most queries have only one.
        place, table = self._unsent_tables.popitem() if self._unsent_tables else (None, None)
        self.send_tables()
        rows: bytes | None = self.java.few(results, number, before, most, place, table)
        return rows

    def many(self, number: int, before: bool) -> Any:
        """Java's frame of query `number`; `before`: it ran before. For any thread, after `send_tables`."""
        return self.java.frame(number, before)

    def send_tables(self) -> None:
        """Send the tables that were put to Java."""
        while self._unsent_tables:
            self.java.put(*self._unsent_tables.popitem())

    def explained(self) -> str:
        """The output of EXPLAIN for the current query."""
        self.send_tables()
        return str(self.java.explained())

    # Once for all threads: the thread that reports progress uses the same queries.
    @once_for_all
    def java(self) -> Any:
        arguments = (self._session._jsparkSession, VIEW_KEY, CATALOG_NAME)
        return new_instance(self._session, "scans.Queries", *arguments)
