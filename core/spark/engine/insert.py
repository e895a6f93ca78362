"""INSERT, and DELETE, UPDATE and MERGE: rows of a table or branch are written or changed, as one commit.

Spark itself runs a statement that changes rows, over Paimon's own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import StructField

from paimark.core.errors import Refused, StatementFailed, failing_at
from paimark.core.figures import counted
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.protocol import Inserting
from paimark.core.spark.session_conf import ASSIGNMENT, OVERWRITE_MODE, SessionConf
from paimark.core.spark.writing.target import WriteTarget, require_changeable
from paimark.core.table.catalog import find_table
from paimark.core.table.definition.kind_signs import column_files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import named_table
from paimark.core.table.records import Snapshot
from paimark.core.travel.statements.inserts import Insert, NamedColumn, RowChange

if TYPE_CHECKING:
    from paimark.core.spark.engine.statement import Job

# The name of the target in our catalog, where only the name in the statement finds it.
_TARGET = "paimark_target"


@dataclass(frozen=True)
class Inserted:
    """`label` is the table, with its branch if the statement names one; `rows` counts those in new files, and
    is None where files have parts of them.

    `snapshot` is None if there was nothing to commit. `remark` is what failed after the commit, `unseen` why
    no reader sees the rows.
    """

    label: str
    snapshot: int | None
    rows: int | None
    remark: str = ""
    unseen: str = ""


def insert_target(
    warehouse: WarehouseAccess, insert: Insert, database: str | None, order: Inserting
) -> WriteTarget:
    """The target in its present state. Raises `StatementFailed` at the table's name, `Refused`."""
    is_dynamic = insert.overwrite and bool(insert.partition) and not insert.static
    target = _target(warehouse, insert, database, order)
    return msgspec.structs.replace(target, overwrite=insert.overwrite, dynamic=is_dynamic)


def _target(
    warehouse: WarehouseAccess, statement: Insert | RowChange, database: str | None, order: Inserting
) -> WriteTarget:
    files = warehouse.files
    with failing_at(statement.table_position):
        table, branch = named_table(statement.parts, database)
        root = branch_root(files, find_table(files, table.full_name), branch)
    if root.branch != order.root:
        raise Refused(
            f"Another branch of {table.full_name} became main since the plan was made", "Run it again."
        )
    lineage = Lineage(files, root)
    known = lineage.latest_id() or 0
    if isinstance(statement, RowChange):
        # What it changes are rows of the plan's snapshot.
        known = Snapshot.from_json(order.head.encode(), "the order").id if order.head else 0
    return WriteTarget(
        *warehouse.address(root),
        lineage.require_schema().to_json().decode(),
        follows_main=branch is None,
        commit_user=order.commit_user,
        note=order.note,
        head=order.head,
        may_go_on=isinstance(statement, RowChange) and bool(order.head),
        known=known,
        operation=statement.action,
        statement=statement.sql,
    )


def insert_rows(session: EngineSession, insert: Insert, target: WriteTarget, frame: DataFrame) -> Inserted:
    """Write the rows. Raises `StatementFailed` for columns that don't fit, and `Refused` like a commit."""
    _require_mode(session.conf, insert, target)
    _require_able(session, target)
    columns = ColumnAssignment(session.spark, frame, target, insert)
    label = target.name + ("" if target.follows_main else f"$branch_{target.branch}")
    partitions = columns.partition if insert.overwrite and insert.static else None
    made = session.writes.write(target, columns.rows, partitions=partitions, assigned=True)
    if made is None:
        return Inserted(label, None, 0)
    rows = None if column_files(target.table_schema) else made.changes.records_added
    return Inserted(label, made.snapshot.id, rows, made.remark, made.unseen)


def _require_mode(conf: SessionConf, insert: Insert, target: WriteTarget) -> None:
    """Raises `StatementFailed` if Spark's setting would make an overwrite replace less.

    Here an overwrite replaces what its statement and its plan tell, whatever the setting is.
    """
    partitions = target.table_schema.partition_keys
    if not insert.overwrite or target.dynamic or len(insert.static) == len(partitions):
        return
    if conf.get(OVERWRITE_MODE).lower() != "dynamic":
        return
    with failing_at(insert.table_position):
        raise Refused(
            f"{OVERWRITE_MODE} is dynamic, and this would replace other partitions of {target.name} than "
            "those that rows come for",
            f"Write PARTITION ({', '.join(partitions)}) for those, or SET {OVERWRITE_MODE}=static.",
        )


class ChangedRows(msgspec.Struct, frozen=True):
    """`table` has its branch if the statement names one. `snapshot_id` is None if nothing was committed.

    `deleted` is None if nobody counted them. `said` are the counts in words; `remark` is what failed after
    the commit.
    """

    table: str
    snapshot_id: int | None
    deleted: int | None
    updated: int
    inserted: int
    said: str
    remark: str = ""
    unseen: str = ""


def change_rows(session: EngineSession, job: Job, change: RowChange, order: Inserting) -> ChangedRows:
    """Run the statement. Raises `StatementFailed`, Spark's errors, and `Refused` like a commit."""
    database, views = session.state.database, session.views
    target = _target(session.warehouse, change, database, order)
    with failing_at(change.table_position):
        require_changeable(target, change.command)
        _require_able(session, target)
    parts = change.parts if len(change.parts) > 1 or database is None else (database, *change.parts)

    def run(table: Any) -> None:
        # Last: a table that the statement reads too may have the same name.
        views.queries.java.putTable(_TARGET, list(parts), table)
        job.tell_readings()
        session.spark.sql(job.text)

    views.register(job.named, job.pins)
    try:
        most = order.most if job.is_again else None
        made = session.writes.change(target, lambda write: run(write.changing(target.name)), most)
    finally:
        views.queries.java.remove(_TARGET)
        views.drop(job.named)
        views.forget()
    label = target.name + ("" if target.follows_main else f"$branch_{target.branch}")
    if made.commit is None:
        return ChangedRows(label, None, 0, 0, 0, "")
    counts, commit = made.counts, made.commit
    deleted = None if counts.gone else counts.deleted
    numbers = (deleted, counts.updated, counts.inserted)
    return ChangedRows(label, commit.snapshot.id, *numbers, counts.said, commit.remark, commit.unseen)


def _require_able(session: EngineSession, target: WriteTarget) -> None:
    session.writes.require(target)
    if (mode := session.conf.get(ASSIGNMENT)).upper() != "ANSI":
        raise Refused(
            f"{ASSIGNMENT} is {mode}, and values could be cut in silence", f"SET {ASSIGNMENT}=ANSI first."
        )


class ColumnAssignment:
    """A query's columns for those of a table. Raises `StatementFailed` with the position of the error."""

    def __init__(self, session: SparkSession, frame: DataFrame, target: WriteTarget, insert: Insert) -> None:
        self._session = session
        self._insert = insert
        self._name = target.name
        schema = target.table_schema
        self._definitions = {field.name: field for field in schema.fields}
        self._fields = spark_columns(target.scan).fields
        self._static = {self._column_name(each): each for each in insert.static}
        for each in insert.partition or ():
            if self._column_name(each) not in schema.partition_keys:
                raise insert.refused(
                    f"{each.name} is no partition column of {self._name}", self._it_has(), each.position
                )
        self._indexes = self._column_indexes(frame.columns)
        for name, definition in self._definitions.items():
            is_left_out = name not in self._static and name not in self._indexes
            if is_left_out and definition.default_value is None and _is_never_null(definition.type):
                raise self._refused(f"Column {name} of {self._name} may not be null", "Give it a value.")
        # By position: a query may have two columns with one name.
        self._frame = frame.toDF(*(f"c{index}" for index in range(len(frame.columns))))

    @property
    def rows(self) -> DataFrame:
        """The rows with those of the table's columns that get values, in its order, not yet of its types."""
        given = {name: sql_functions.col(f"c{index}").alias(name) for name, index in self._indexes.items()}
        given |= {field.name: self._set(field) for field in self._fields if field.name in self._static}
        return self._frame.select(*(given[name] for name in self._definitions if name in given))

    @property
    def partition(self) -> DataFrame:
        """One row with the partition columns that the statement sets, of the table's types."""
        static = [field for field in self._fields if field.name in self._static]
        return self._session.range(1).select(*map(self._set, static))

    def _set(self, field: StructField) -> Column:
        """The value that PARTITION gives. As in Spark, a text may stand for any type."""
        value = sql_functions.expr(self._static[field.name].value or "NULL")
        converted = value.try_cast(field.dataType)
        told = sql_functions.lit(f"Column {field.name} can't hold ")
        failed = sql_functions.raise_error(
            sql_functions.concat(told, value.cast("string"), sql_functions.lit(" as it is"))
        )
        is_lost = value.isNotNull() & converted.isNull()
        return sql_functions.when(is_lost, failed).otherwise(converted).alias(field.name)

    def _column_indexes(self, query_columns: Sequence[str]) -> dict[str, int]:
        """The index of the query's column for each column of the table."""
        insert = self._insert
        if insert.by_name:
            indexes: dict[str, int] = {}
            for index, each in enumerate(query_columns):
                name = self._column_name(NamedColumn(each, insert.query_position))
                if name in indexes:
                    raise self._refused(f"The query gives {name} twice", "Leave one of them out.")
                indexes[name] = index
            return indexes
        names = list(self._definitions)
        if insert.columns is not None:
            names = [self._column_name(each) for each in insert.columns]
        names = [name for name in names if name not in self._static]
        if len(names) != len(query_columns):
            raise self._refused(
                f"The query gives {counted(len(query_columns), 'column')}, and "
                f"{counted(len(names), 'column')} of {self._name} "
                f"{'is' if len(names) == 1 else 'are'} to be filled",
                f"They are {', '.join(names)}.",
            )
        return {name: index for index, name in enumerate(names)}

    def _column_name(self, named: NamedColumn) -> str:
        for name in self._definitions:
            if name.lower() == named.name.lower():
                return name
        raise self._insert.refused(f"{self._name} has no column {named.name}", self._it_has(), named.position)

    def _it_has(self) -> str:
        return f"It has {', '.join(self._definitions)}."

    def _refused(self, reason: str, hint: str) -> StatementFailed:
        return self._insert.refused(reason, hint, self._insert.query_position)


def _is_never_null(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith(" NOT NULL")
