"""Change single rows of a table by queries over its versions, as one commit of Paimon's library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec.structs import replace
from pyspark.sql import DataFrame

from paimark.core.quoting import literal, quoted
from paimark.core.spark.engine.orders.rewrite import as_declared, named_versions, target_of, temporary_view
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.protocol import COMMON, GONE, Repair, TaskResult
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.column_types import WHOLE, ColumnType
from paimark.core.table.records import TableSchema

# The name of the table that is changed, in the session's catalog and in statements.
_TARGET = "paimark_repaired"
# Of so many keys the statement names each one, so that few files are looked into.
_NAMED_KEYS = 200
_TEXTS = ("VARCHAR", "STRING")


def repair(session: EngineSession, order: Repair) -> TaskResult:
    """Raises `Refused` like a commit, and Spark's errors."""
    target = replace(
        target_of(session, order),
        may_go_on=True,
        operation=order.operation,
        done=order.done,
    )
    session.writes.require(target)
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
                _upsert(session, target, rows, write)
            if order.rows_sql:
                rows = as_declared(session.views.query(order.rows_sql, named), target)
                write.write(rows._jdf, False)

        made = session.writes.change(target, fill)
    if made.commit is None:
        return TaskResult()
    return TaskResult((made.counts.said,), made.commit.snapshot.id, made.commit.remark or made.commit.unseen)


def _upsert(session: EngineSession, target: WriteTarget, rows: DataFrame, write: Any) -> None:
    schema = target.table_schema
    with temporary_view(session.spark, COMMON, rows):
        narrowed = _narrowed(session, schema)
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


def _narrowed(session: EngineSession, schema: TableSchema) -> Sequence[str] | None:
    """Conditions that the keys of `COMMON` satisfy, by which files are left out; None if it has no row."""
    kinds = {field.name: ColumnType.of(str(field.type)).name for field in schema.fields}
    keys = [name for name in schema.primary_keys if kinds[name] in (*WHOLE, *_TEXTS, "DATE")]
    ends = [f"{of}({quoted(each)})" for each in keys for of in ("min", "max")]
    cells = [f"CAST({each} AS STRING)" for each in ("count(*)", *ends)]
    bounds = _texts(session, cells)
    if bounds[0] == "0":
        return None
    if int(bounds[0]) > _NAMED_KEYS:
        return [
            f"t.{quoted(name)} BETWEEN {_literal(low, kinds[name])} AND {_literal(high, kinds[name])}"
            for name, low, high in zip(keys, bounds[1::2], bounds[2::2], strict=True)
        ]
    lists = [f"to_json(collect_set(CAST({quoted(each)} AS STRING)))" for each in keys]
    named = _texts(session, lists) if keys else []
    return [
        f"t.{quoted(name)} IN ({', '.join(_literal(each, kinds[name]) for each in json.loads(values))})"
        for name, values in zip(keys, named, strict=True)
    ]


def _texts(session: EngineSession, cells: Sequence[str]) -> list[str]:
    """The cells of the only row that a selection from `COMMON` has."""
    row = session.spark.sql(f"SELECT to_json(array({', '.join(cells)})) FROM {COMMON}")._jdf.head()
    texts: list[str] = json.loads(row.getString(0))
    return texts


def _literal(text: str, kind: str) -> str:
    if kind in WHOLE:
        return text
    return f"DATE{literal(text)}" if kind == "DATE" else literal(text)
