"""Orders of the actions: small questions about versions of a table, and rows of theirs as one commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from pyspark.sql import DataFrame, SparkSession

from core.errors import Refused
from core.spark.committing import encode_partitions
from core.spark.paimon import open_table
from core.spark.protocol import Ask, Version, Write
from core.spark.scan import Scan, Warehouse
from core.spark.target import Target
from core.spark.types import spark_schema
from core.spark.write import clustered_for
from core.table.catalog import parse_table_name
from core.table.lineage import Lineage

# An overwrite of more partitions than this would name them all at each manifest.
MOST_PARTITIONS = 10_000


def answer(session: SparkSession, warehouse: Warehouse, order: Ask) -> tuple[str, ...]:
    """The rows of a question as JSON objects."""
    with _views(session, warehouse, order):
        return tuple(session.sql(order.sql).toJSON().collect())


def write(session: SparkSession, warehouse: Warehouse, order: Write) -> int | None:
    """Make the commit; its snapshot's id, None when there was nothing to write. Raises `Refused`."""
    table = parse_table_name(order.table)
    with _views(session, warehouse, order):
        target = Target(
            warehouse=warehouse.uri,
            options=dict(warehouse.options),
            database=table.database,
            table=table.name,
            branch=order.branch,
            follows_main=order.follows_main,
            schema=order.schema,
            commit_user=order.commit_user,
            overwrite=order.overwrite,
            head=order.head,
            after_commit=None,
        )
        if order.partitions_sql is not None:
            partitions = session.sql(order.partitions_sql).limit(MOST_PARTITIONS + 1).toArrow()
            if not partitions.num_rows:
                return None
            # Of that many, all are as good as the whole table: the rows must then be all of them.
            if partitions.num_rows > MOST_PARTITIONS:
                raise Refused(
                    f"Rows of more than {MOST_PARTITIONS} partitions of {order.table} would change at once",
                    "Merge fewer at a time.",
                )
            if target.table_schema.partition_keys:
                target = msgspec.structs.replace(target, partitions=encode_partitions(partitions))
        frame = clustered_for(_as_declared(session.sql(order.sql), target), target)
        mode = "overwrite" if order.overwrite else "append"
        frame.write.format("paimark").mode(mode).option("target", target.to_text()).save()
    return landed(warehouse, target)


def landed(warehouse: Warehouse, target: Target) -> int | None:
    """The newest snapshot that this write committed; None when it committed nothing."""
    for row in Lineage(warehouse.files, target.root).newest(32):
        if row.commit_user == target.commit_user:
            return row.snapshot_id
    return None


def _as_declared(frame: DataFrame, target: Target) -> DataFrame:
    """The columns in the types that Spark has for the table's."""
    fields = spark_schema(open_table(_scan_of(target)).fields).fields
    return frame.select(*(frame[field.name].cast(field.dataType).alias(field.name) for field in fields))


def _scan_of(target: Target) -> Scan:
    return Scan(
        target.warehouse, target.options, target.database, target.table, target.branch, "", target.schema
    )


@contextmanager
def _views(session: SparkSession, warehouse: Warehouse, order: Ask | Write) -> Iterator[None]:
    table = parse_table_name(order.table)
    for name, version in order.versions.items():
        scan = Scan(
            warehouse=warehouse.uri,
            options=dict(warehouse.options),
            database=table.database,
            table=table.name,
            branch=version.branch,
            snapshot=version.snapshot,
            schema=_schema(order, version),
        )
        frame = session.read.format("paimark").option("scan", scan.to_text()).load()
        frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in order.versions:
            session.catalog.dropTempView(name)


def _schema(order: Ask | Write, version: Version) -> str:
    """Every version is read by one definition: columns go by their ids, whatever they were called then."""
    return version.schema or order.schema
