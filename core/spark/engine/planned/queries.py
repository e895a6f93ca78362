"""Asks Spark what a statement is and needs: `native/Queries.java`, from here.

A call into Java takes 0.2 ms whatever it does, so a query is planned in one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from core.once import once_for_all
from core.spark.engine.planned.kept_plans import KeptPlans
from core.spark.engine.plans import VIEW_KEY, Node
from core.spark.job_tag import job_tag
from core.spark.native.compiled import compiled, new_instance
from core.spark.native.summaries.frames import classes
from core.spark.protocol import StageProgress

# Whether it is only looked at, planned as it is, or planned to show its rows to somebody: then its LIMIT is
# `most`, and no longer in the plan. Of an EXPLAIN the query that it explains is planned.
How = Literal["look", "plan", "show", "explain"]


class Said(msgspec.Struct, frozen=True):
    """What Spark says of a statement. `kind` is the class of its plan. What `reads` only computes rows;

    of that, planned, `columns` are a schema in JSON, `nodes` its optimised plan and its subqueries'.
    One that is `lasting` gives the same rows whenever it reads the same. Of a frame only columns are said.
    """

    kind: str = ""
    reads: bool = True
    columns: str = ""
    most: int | None = None
    lasting: bool = False
    nodes: tuple[Node, ...] = ()

    @property
    def types(self) -> StructType:
        return StructType.fromJson(msgspec.json.decode(self.columns))


class StandIn(msgspec.Struct, frozen=True, array_like=True):
    """A table without rows in the place of one of ours. `columns` are a schema in JSON."""

    name: str
    place: str
    columns: str


_said = msgspec.json.Decoder(Said)


class Queries:
    """One query is at hand at a time: the one asked last. Of earlier ones Java has the `plans`, no others.

    `prefix` begins names that nobody types.
    """

    def __init__(self, session: SparkSession, prefix: str) -> None:
        self._session = session
        self._prefix = prefix
        self._asked = 0
        # The tables of the query at hand that Java has not been told of, as it has them, by their places.
        self._untold: dict[str, Any] = {}
        self.plans = KeptPlans()

    def tag(self) -> None:
        """What this thread has Spark do from now on bears the statement's tag, as it does from `asked` on."""
        self.java.tag(job_tag())

    def progress(self, tag: str) -> StageProgress | None:
        """Of the jobs that bear the tag. From any thread."""
        stages, stages_done, tasks, done = map(int, self.java.progress(tag).split())
        if not stages:
            return None
        return StageProgress(done, tasks, f"stage {min(stages_done + 1, stages)} of {stages}")

    def asked(self, text: str, how: How, stand_ins: Iterable[StandIn], limit: int | None) -> tuple[int, Said]:
        """Its number, and what Spark says. `limit` is how many rows will be shown, None for all."""
        self._asked += 1
        self._untold.clear()
        views = msgspec.json.encode(list(stand_ins)).decode()
        numbers = msgspec.json.encode(self.plans.numbers).decode()
        most = -1 if limit is None else limit
        said = self.java.asked(text, how, most, views, self._asked, numbers, job_tag())
        return self._asked, _said.decode(said)

    def take(self, frame: DataFrame) -> Said:
        """Put a frame in the place of the one at hand."""
        return _said.decode(self.java.taken(frame._jdf))

    def put(self, place: str, table: DataFrame) -> None:
        """The rows of one of the tables of the query at hand."""
        self._untold[place] = table._jdf

    def frame(self) -> DataFrame:
        """The query at hand, with its tables."""
        self.tell_tables()
        return DataFrame(self.java.frame(), self._session)

    def few(self, results: Any, number: int, before: bool, most: int) -> bytes | None:
        """What `ResultRows` in Java gives for query `number`, which may have run `before`.

        None where its rows may be more than `most`.
        """
        # All but one, which goes along: most queries have no more.
        place, table = self._untold.popitem() if self._untold else (None, None)
        self.tell_tables()
        found: bytes | None = self.java.few(results, number, before, most, place, table)
        return found

    def many(self, number: int, before: bool) -> Any:
        """Query `number` as Java has it, which may have run `before`. From any thread, its tables told."""
        return self.java.frame(number, before)

    def tell_tables(self) -> None:
        """Let Java have the tables that were put."""
        while self._untold:
            self.java.put(*self._untold.popitem())

    def explained(self) -> str:
        """What Spark says of the query at hand, as an EXPLAIN has asked."""
        self.tell_tables()
        return str(self.java.explained())

    # Who looks how far a statement is does so in a thread of its own, and finds the same queries there.
    @once_for_all
    def java(self) -> Any:
        plans = compiled(self._session, "Plans", classes(self._session))
        compiler = compiled(self._session, "Queries", plans)
        given = (self._session._jsparkSession, VIEW_KEY, self._prefix)
        return new_instance(self._session, "Queries", *given, compiler=compiler)
