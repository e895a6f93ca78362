"""Change single rows of a table by queries over its versions, as one commit of Paimon's library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec.structs import replace

from paimark.core.errors import Refused
from paimark.core.quoting import literal, quoted
from paimark.core.spark.engine.orders.rewrite import (
    as_declared,
    is_small,
    named_versions,
    target_of,
    temporary_view,
)
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.tables import OpenedTable
from paimark.core.spark.protocol import COMMON, GONE, Repair, TaskResult, Version
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.column_types import UNPADDED_TEXTS, WHOLE, ColumnType
from paimark.core.table.records import TableSchema

# The name of the table that is changed, in the session's catalog and in statements.
_TARGET = "paimark_repaired"
# Of so many values the statement names each one, so that few files are looked into.
_NAMED = 200
# All rows of the table, and the partitions of the rows that change.
_ALL, _PARTITIONS = "__paimark_all", "__paimark_partitions"
# The most partitions of one overwrite, which compares all of them with each manifest.
MOST_PARTITIONS = 10_000


def repair(session: EngineSession, order: Repair) -> TaskResult:
    """Raises `Refused` like a commit, and Spark's errors."""
    target = replace(
        target_of(session, order),
        overwrite=order.overwrites,
        may_go_on=True,
        operation=order.operation,
        done=order.done,
    )
    session.writes.require(target)
    if order.overwrites:
        order = replace(order, versions={**order.versions, _ALL: Version(order.branch, order.head)})
    with named_versions(session, order) as named, ExitStack() as ends:

        def fill(write: Any) -> None:
            if order.out:
                write.takeOut(list(order.out))
            if order.partitions:
                write.takeOutPartitions(list(order.partitions))
            if order.delete_where:
                with _changing(session, write.changing(target.name), order.table):
                    session.spark.sql(f"DELETE FROM {_place(order.table)} AS this WHERE {order.delete_where}")
            if order.upserts_sql:
                rows = session.views.query(order.upserts_sql, named)
                ends.callback(rows.persist().unpersist)
                ends.enter_context(temporary_view(session.spark, COMMON, rows))
                if order.overwrites:
                    _overwrite(session, target, named, write, is_small(session.warehouse.files, order))
                else:
                    _upsert(session, target, write)
            if order.rows_sql:
                rows = as_declared(session.views.query(order.rows_sql, named), target)
                write.write(rows._jdf, False)

        is_partial = bool(_replaced_by(target.table_schema))
        made = session.writes.change(target, fill, is_partial=is_partial)
    if made.commit is None:
        return TaskResult()
    return TaskResult((made.counts.said,), made.commit.snapshot.id, made.commit.remark or made.commit.unseen)


def _upsert(session: EngineSession, target: WriteTarget, write: Any) -> None:
    schema = target.table_schema
    narrowed = _narrowed(session, schema, COMMON, schema.primary_keys)
    if narrowed is None:
        return
    columns = [quoted(field.name) for field in schema.fields]
    keys = [*map(quoted, schema.primary_keys)]
    others = [f"t.{name} = s.{name}" for name in columns if name not in keys]
    change = f"WHEN MATCHED THEN UPDATE SET {', '.join(others)} " if others else ""
    with _changing(session, write.changing(target.name), target.name):
        session.spark.sql(
            f"MERGE INTO {_place(target.name)} AS t USING {COMMON} AS s "
            f"ON {' AND '.join([*(f't.{key} = s.{key}' for key in keys), *narrowed])} "
            f"WHEN MATCHED AND s.{GONE} THEN DELETE {change}"
            f"WHEN NOT MATCHED AND NOT s.{GONE} THEN INSERT ({', '.join(columns)}) "
            f"VALUES ({', '.join(f's.{name}' for name in columns)})"
        )


def _overwrite(
    session: EngineSession, target: WriteTarget, named: Mapping[str, OpenedTable], write: Any, is_small: bool
) -> None:
    """Write the partitions of the rows again, with all other rows that they have."""
    schema, spark = target.table_schema, session.spark
    replaced = _replaced_by(schema)
    # A selection of no column would be no SQL.
    values = _list(replaced) or "1"
    partitions = spark.sql(f"SELECT DISTINCT {values} FROM {COMMON}").limit(MOST_PARTITIONS + 1).toArrow()
    if not partitions.num_rows:
        return
    # More partitions would be almost the whole table, and the rows would have to be all of it.
    if partitions.num_rows > MOST_PARTITIONS:
        raise Refused(
            f"Rows of more than {MOST_PARTITIONS} partitions of {target.name} would change at once",
            "Merge fewer at a time.",
        )
    frame = spark.createDataFrame(partitions)
    write.replace((frame if replaced else frame.select())._jdf)
    columns = _list([field.name for field in schema.fields])
    with temporary_view(spark, _PARTITIONS, frame):
        others = (
            f"SELECT {columns} FROM {_ALL} t LEFT ANTI JOIN {COMMON} USING ({_list(schema.primary_keys)})"
        )
        if replaced:
            where = " AND ".join(_narrowed(session, schema, _PARTITIONS, replaced) or ()) or "true"
            others += f" LEFT SEMI JOIN {_PARTITIONS} USING ({_list(replaced)}) WHERE {where}"
        sql = f"{others} UNION ALL SELECT {columns} FROM {COMMON} WHERE NOT {GONE}"
        write.write(as_declared(session.views.query(sql, named), target)._jdf, is_small)


def _replaced_by(schema: TableSchema) -> Sequence[str]:
    """The columns by whose values an overwrite finds what it replaces; none for the whole table.

    A key without its partition can move from one to another.
    """
    return schema.partition_keys if {*schema.partition_keys} <= {*schema.primary_keys} else []


@contextmanager
def _changing(session: EngineSession, table: Any, name: str) -> Iterator[None]:
    """Inside, a statement finds the table as `_place`."""
    java = session.views.queries.java
    session.views.register({}, "")
    java.putTable(_TARGET, [parse_table_name(name).database, _TARGET], table)
    try:
        yield
    finally:
        java.remove(_TARGET)
        session.views.forget()


def _place(name: str) -> str:
    return f"{quoted(parse_table_name(name).database)}.{_TARGET}"


def _narrowed(
    session: EngineSession, schema: TableSchema, view: str, columns: Sequence[str]
) -> Sequence[str] | None:
    """Conditions for rows `t` that those of a view satisfy, that leave out files; None without rows."""
    kinds = {field.name: ColumnType.of(str(field.type)).name for field in schema.fields}
    keys = [name for name in columns if kinds[name] in (*WHOLE, *UNPADDED_TEXTS, "DATE")]
    ends = [f"{of}({quoted(each)})" for each in keys for of in ("min", "max")]
    cells = [f"CAST({each} AS STRING)" for each in ("count(*)", *ends)]
    bounds = _texts(session, view, cells)
    if bounds[0] == "0":
        return None
    if int(bounds[0]) > _NAMED:
        return [
            f"t.{quoted(name)} BETWEEN {_literal(low, kinds[name])} AND {_literal(high, kinds[name])}"
            for name, low, high in zip(keys, bounds[1::2], bounds[2::2], strict=True)
        ]
    lists = [f"to_json(collect_set(CAST({quoted(each)} AS STRING)))" for each in keys]
    named = _texts(session, view, lists) if keys else []
    return [
        f"t.{quoted(name)} IN ({', '.join(_literal(each, kinds[name]) for each in json.loads(values))})"
        for name, values in zip(keys, named, strict=True)
    ]


def _texts(session: EngineSession, view: str, cells: Sequence[str]) -> list[str]:
    """The cells of the only row that a selection from a view has."""
    row = session.spark.sql(f"SELECT to_json(array({', '.join(cells)})) FROM {view}")._jdf.head()
    texts: list[str] = json.loads(row.getString(0))
    return texts


def _literal(text: str, kind: str) -> str:
    if kind in WHOLE:
        return text
    return f"DATE{literal(text)}" if kind == "DATE" else literal(text)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
