"""Tables as views of the Spark session, under names that nobody types.

A statement is analysed twice. First on stand-ins without rows, which shows what it needs of each table; then
on the tables themselves, read with just those columns and rows. Were the second plan to need more than the
first, which rests on the same schema, the whole table is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from core.spark.native.conditions import depends_on_the_moment
from core.spark.native.scans import NativeScans
from core.spark.paimon import open_table
from core.spark.plans import VIEW_KEY, Needs, needs
from core.spark.scan import Scan
from core.spark.tables import OpenedTable
from core.spark.types import spark_schema

PREFIX = "__paimark_"
_KEPT_FRAMES = 64
_ARROW_TYPES: Mapping[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "BOOLEAN": pa.bool_(),
    "STRING": pa.string(),
    "TIMESTAMP(3)": pa.timestamp("ms", "UTC"),
}


class Views:
    def __init__(self, session: SparkSession, natives: NativeScans) -> None:
        self._session = session
        self._natives = natives
        self._frames: OrderedDict[tuple[str, str], DataFrame] = OrderedDict()
        self._made = 0

    def names(self, opened: Sequence[OpenedTable]) -> dict[str, OpenedTable]:
        """A name for each table, in their order, that no view had yet."""
        self._made += 1
        return {f"{PREFIX}{self._made}_{place}": table for place, table in enumerate(opened)}

    def query(self, sql: str, named: Mapping[str, OpenedTable], limit: int | None) -> DataFrame:
        """The query `sql` over tables as `named`, reading no more of them than it needs.

        `limit` is how many of the result's rows will be looked at, None for all.
        """
        if not any(table.scan for table in named.values()):
            self.register(named)
            return self._session.sql(sql)
        self._register_stand_ins(named)
        planned = self._needs(self._session.sql(sql), limit)
        if depends_on_the_moment(sql):
            for need in planned.values():
                need.conditions = ()
        self.register(named, planned)
        frame = self._session.sql(sql)
        if all(_covers(planned.get(place), need) for place, need in self._needs(frame, limit).items()):
            return frame
        self.register(named)
        return self._session.sql(sql)

    def register(self, named: Mapping[str, OpenedTable], wanted: Mapping[str, Needs] | None = None) -> None:
        """Make the views. With `wanted`, by place, they lack rows, and have nulls in columns, not needed."""
        for place, (name, table) in enumerate(named.items()):
            if table.scan is None:
                frame = _system_frame(self._session, table)
            elif table.native is not None:
                frame = self._natives.frame(table.native, (wanted or {}).get(str(place)))
            elif wanted is None:
                frame = self._frame(str(place), replace(table.scan, filters=False))
            else:
                frame = self._frame(str(place), _narrowed(table.scan, wanted.get(str(place), Needs())))
            frame.createOrReplaceTempView(name)

    def drop(self, named: Mapping[str, OpenedTable]) -> None:
        for name in named:
            self._session.catalog.dropTempView(name)

    def is_temporary(self, name: str) -> bool:
        """Whether the user has made a temporary view of that name."""
        catalog = self._session._jsparkSession.sessionState().catalog()
        return bool(catalog.getTempView(name).isDefined())

    def _register_stand_ins(self, named: Mapping[str, OpenedTable]) -> None:
        for place, (name, table) in enumerate(named.items()):
            if table.scan is None:
                frame = _system_frame(self._session, table)
            else:
                frame = self._stand_in(str(place), table.scan)
            frame.createOrReplaceTempView(name)

    def _stand_in(self, place: str, scan: Scan) -> DataFrame:
        empty = self._session.createDataFrame
        return self._kept(("stand-in " + place, scan.schema), lambda: empty([], _marked(scan, place)))

    def _frame(self, place: str, scan: Scan) -> DataFrame:
        text = scan.to_text()
        reader = self._session.read.format("paimark").schema(_marked(scan, place)).option("scan", text)
        # Once Spark has told a source the conditions of a statement, it reads every later one by them.
        return reader.load() if scan.filters else self._kept((place, text), reader.load)

    def _kept(self, key: tuple[str, str], make: Callable[[], DataFrame]) -> DataFrame:
        frame = self._frames.pop(key, None) or make()
        self._frames[key] = frame
        if len(self._frames) > _KEPT_FRAMES:
            self._frames.popitem(last=False)
        return frame

    def _needs(self, frame: DataFrame, limit: int | None) -> dict[str, Needs]:
        return needs(frame._jdf.queryExecution().optimizedPlan(), limit)


def _marked(scan: Scan, place: str) -> StructType:
    """The table's columns, saying in a plan which of the statement's tables they are of."""
    fields = spark_schema(open_table(scan).fields).fields
    return StructType([StructField(each.name, each.dataType, True, {VIEW_KEY: place}) for each in fields])


def _narrowed(scan: Scan, need: Needs) -> Scan:
    names = [field.name for field in open_table(scan).fields]
    columns = tuple(name for name in names if name in need.columns)
    return replace(
        scan,
        columns=None if len(columns) == len(names) else columns,
        limit=need.limit,
        filters=not need.again,
    )


def _covers(planned: Needs | None, found: Needs) -> bool:
    """Whether what was read for a plan is enough for the one that was made of it."""
    if planned is None or not found.columns <= planned.columns or (found.again and not planned.again):
        return False
    return planned.limit is None or (found.limit is not None and found.limit <= planned.limit)


def _system_frame(session: SparkSession, table: OpenedTable) -> DataFrame:
    assert table.system is not None
    schema = pa.schema([(column.name, _ARROW_TYPES[column.type]) for column in table.system.columns])
    values = zip(*table.rows, strict=True) if table.rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))
