"""Make tables known to the Spark session, in our catalog and under internal names.

Spark plans a query on stand-ins without rows, which shows what it needs of each table. Then the tables, read
with only those columns and rows, replace the stand-ins in the plan.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from paimark.core.spark.arrow import listed_rows
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.engine.planned.plans import read_uses
from paimark.core.spark.engine.planned.queries import Description, PlanMode, Queries, StandIn
from paimark.core.spark.engine.tables import OpenedTable
from paimark.core.spark.library.lookups import Lookups
from paimark.core.spark.library.reads import LibraryReads
from paimark.core.spark.native.conditions import ViewNeeds
from paimark.core.spark.native.scans import NativeScans
from paimark.core.spark.native.summary import Summary
from paimark.core.travel.parse.statement import TableUse
from paimark.core.travel.statements.shows import ENGINE_VIEWS, GLOBAL_VIEWS

_KEPT = 64


class Read(NamedTuple):
    """The names of the tables that metadata answer, and about how many bytes Java holds for all."""

    of_metadata: tuple[str, ...]
    bytes: int


class Views:
    def __init__(
        self, session: SparkSession, natives: NativeScans, library: LibraryReads, lookups: Lookups
    ) -> None:
        self._session = session
        self._natives = natives
        self._library = library
        self._lookups = lookups
        # Over Connect there is no Java session, and no statement makes a view.
        java: Any = getattr(session, "_jsparkSession", None)
        self._catalog: Any = None if java is None else java.sessionState().catalog()
        self.queries = Queries(session)
        self._database: str | None = ""
        # By text, while no command may have changed how Spark parses it.
        self._uses: OrderedDict[str, tuple[TableUse, ...]] = OrderedDict()
        # Schemas as JSON, by the table's schema and whether CHAR is padded.
        self._schemas: OrderedDict[tuple[str, bool], str] = OrderedDict()
        self._made = 0

    def use(self, database: str | None) -> None:
        """Make a database the current one of the catalog; None for none."""
        if database != self._database:
            self.queries.java.use(database)
        self._database = database

    def forget(self) -> None:
        """Drop what a command may have changed: kept plans, and the current catalog."""
        self.queries.plans.clear()
        self._uses.clear()
        self._database = ""

    def uses(self, sql: str, now_ms: int) -> tuple[TableUse, ...]:
        """The tables of a statement and of the views in it. Raises `SqlRefused`, and Spark's errors."""
        if sql in self._uses:
            return self._uses[sql]
        uses = read_uses(sql, self.queries.uses(sql, now_ms))
        if all(use.clause is None or use.clause.time_ms is None for use in uses):
            # Others may be times of this moment.
            self._uses[sql] = uses
            if len(self._uses) > _KEPT:
                self._uses.popitem(last=False)
        return uses

    def names(self, opened: Sequence[OpenedTable]) -> dict[str, OpenedTable]:
        """A new name for each table, in their order."""
        self._made += 1
        return {f"{ENGINE_VIEWS}{self._made}_{index}": table for index, table in enumerate(opened)}

    def query(self, sql: str, named: Mapping[str, OpenedTable], pins: str = "") -> DataFrame:
        """The frame of a query over the `named` tables, which reads only what the query needs."""
        _, description = self.describe(sql, named, "plan", None, pins)
        self.read(description, named)
        return self.queries.frame()

    def describe(
        self,
        sql: str,
        named: Mapping[str, OpenedTable],
        mode: PlanMode,
        limit: int | None = None,
        pins: str = "",
    ) -> tuple[int, Description]:
        """Let Spark parse and plan a statement over stand-ins; return the query's number and description.

        `limit` is how many rows will be shown, None for all.
        """
        stand_ins = [
            StandIn(name, str(place), self._columns(table.scan, table.by_library is not None), table.label)
            for place, (name, table) in enumerate(named.items())
            if table.scan is not None
        ]
        listed = {name: table for name, table in named.items() if table.scan is None}
        self.register(listed)
        try:
            return self.queries.describe(sql, mode, stand_ins, limit, pins)
        finally:
            self.drop(listed)

    def explained(self, sql: str, named: Mapping[str, OpenedTable], pins: str) -> str:
        """The output of Spark's EXPLAIN over the `named` tables."""
        self.register(named, pins)
        try:
            return str(self._session.sql(sql).collect()[0][0])
        finally:
            self.drop(named)

    def looked_up(self, sql: str, named: Mapping[str, OpenedTable], pins: str) -> set[str]:
        """The tables of an EXPLAIN that are read without a job, by their names in `named`."""
        if self._catalog is None or not any(table.native or table.by_library for table in named.values()):
            return set()
        needed = self.describe(sql, named, "explain", None, pins)[1].needs
        opened = list(named.values())
        by_job = {
            _number(place)
            for place, need in needed.items()
            if self._looked_up(opened[_number(place)], need) is None
        }
        looked_up = {_number(place) for place in needed}.difference(by_job)
        return {name for number, name in enumerate(named) if number in looked_up}

    def read(
        self,
        description: Description,
        named: Mapping[str, OpenedTable],
        tell: Callable[[Collection[str]], None] = lambda names: None,
    ) -> Read:
        """Give the current query its tables. Calls `tell` with the names of those that metadata answer."""
        opened, held, needed = list(named.values()), 0, description.needs
        summaries = {place: self._summary(opened[_number(place)], need) for place, need in needed.items()}
        read = {_number(place) for place, summary in summaries.items() if not _is_of_metadata(summary)}
        listed = {_number(place) for place in summaries}.difference(read)
        unread = [name for number, name in enumerate(named) if number in listed]
        tell(unread)
        for place, need in needed.items():
            table, summary = opened[_number(place)], summaries[place]
            self.queries.put(place, self._table(table, need, summary))
            held += 0 if table.native is None else self._natives.frame_bytes(table.native, need, summary)
        return Read(tuple(unread), held)

    def register(self, named: Mapping[str, OpenedTable], pins: str | None = None) -> None:
        """Put the tables into the catalog, with all their rows, for a statement with these `pins`."""
        for name, table in named.items():
            frame = _system_frame(self._session, table) if table.scan is None else self._table(table, None)
            self.queries.java.putFrame(name, table.label, frame._jdf)
        if pins is not None:
            self.queries.java.pin(pins)

    def drop(self, named: Mapping[str, OpenedTable]) -> None:
        for name in named:
            self.queries.java.remove(name)

    def temporary(self) -> list[str]:
        """The names of the user's temporary views."""
        return [] if self._catalog is None else sorted(self.queries.views(GLOBAL_VIEWS, of_all=False))

    def of_all_sessions(self) -> list[str]:
        """The names of the temporary views that all sessions see."""
        return [] if self._catalog is None else sorted(self.queries.views(GLOBAL_VIEWS, of_all=True))

    def is_temporary(self, parts: Sequence[str]) -> bool:
        """Whether there is a temporary view of that name, in this session or global."""
        if self._catalog is None:
            return False
        match parts:
            case [name]:
                return bool(self._catalog.getTempView(name).isDefined())
            case [database, name] if database.lower() == GLOBAL_VIEWS:
                return bool(self._catalog.getGlobalTempView(name).isDefined())
        return False

    def lacks(self, parts: Sequence[str]) -> bool:
        """Whether there is no temporary view of that name; a server is not asked."""
        return self._catalog is not None and not self.is_temporary(parts)

    def _columns(self, scan: Scan, is_padded: bool) -> str:
        """The columns of a scan as a schema in JSON."""
        key = (scan.schema, is_padded)
        made = self._schemas.pop(key, None) or spark_columns(scan, with_chars=is_padded).json()
        self._schemas[key] = made
        if len(self._schemas) > _KEPT:
            self._schemas.popitem(last=False)
        return made

    def _summary(self, table: OpenedTable, need: ViewNeeds) -> Summary | None:
        return None if table.native is None else self._natives.summary(table.native, need)

    def _table(self, table: OpenedTable, need: ViewNeeds | None, summary: Summary | None = None) -> DataFrame:
        """A frame of the needed rows (None: all), in which other columns may be null; or of the `summary`."""
        found = None if need is None or summary is not None else self._looked_up(table, need)
        if found is not None:
            return found
        if table.native is not None:
            return self._natives.frame(table.native, need, summary)
        assert table.scan is not None and table.by_library is not None
        return self._library.frame(table.scan, table.by_library, None if need is None else need.limit)

    def _looked_up(self, table: OpenedTable, need: ViewNeeds) -> DataFrame | None:
        """The needed rows, if this process can look them up."""
        if table.scan is None:
            return None
        if table.native is not None:
            return self._lookups.frame(table.native, table.scan, need)
        if table.by_library is not None:
            return self._lookups.frame_of(table.scan, table.by_library, need)
        return None


def _is_of_metadata(summary: Summary | None) -> bool:
    return summary is not None and summary.is_of_metadata


def _number(place: str) -> int:
    """The number of a table at a place: `3`, or `3.1` where it is read again."""
    return int(place.partition(".")[0])


def _system_frame(session: SparkSession, table: OpenedTable) -> DataFrame:
    assert table.system is not None
    return session.createDataFrame(listed_rows(table.system.columns, table.rows))
