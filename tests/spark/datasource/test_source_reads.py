"""The data source in a Spark with our jar: Python says which state is read, and Paimon's library reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.conftest import EVENTS
from tests.interop.judge import Judge
from tests.paimon import commit, create_table
from tests.spark.written_tables import lineage_of

KEYED = {"bucket": "1", "merge-engine": "partial-update", "fields.s.sequence-group": "v"}


def frame(session: SparkSession, warehouse: Path, table: str, **options: str) -> DataFrame:
    here = {"warehouse": str(warehouse), "table": table}
    return session.read.format("paimark").options(**here, **options).load()


def is_by_library(rows: DataFrame) -> bool:
    java: Any = rows
    return "paimon library" in str(java._jdf.queryExecution().executedPlan())


def collected(rows: DataFrame) -> list[str]:
    """As Java writes them: PySpark's own collect leaves sockets open."""
    java: Any = rows
    return sorted(str(each) for each in java._jdf.collectAsList())


def test_each_state_is_that_of_its_options(spark_of_library: SparkSession, warehouse: Path) -> None:
    counted = {}
    for options in ({}, {"version": "v2"}, {"versionAsOf": "1"}, {"scan.snapshot-id": "3"}):
        rows = frame(spark_of_library, warehouse, "shop.orders", **options)
        assert is_by_library(rows)
        counted[str(options)] = len(collected(rows))
    lineage = lineage_of(warehouse, "shop.orders")
    access = WarehouseAccess(LocalFiles(str(warehouse)), str(warehouse), {})
    for said, snapshot in zip(counted, (5, 2, 1, 3), strict=True):
        scan = make_scan(access, lineage.root, lineage.snapshot(snapshot), pinned=True)
        assert counted[said] == number(scan), said


def number(scan: Scan) -> int:
    """The rows as Python reads them."""
    from paimark.core.spark.datasource.paimon import row_batches

    return sum(batch.num_rows for batch in row_batches(scan))


def test_a_frame_has_the_newest_rows_each_time(spark_of_library: SparkSession, warehouse: Path) -> None:
    rows = frame(spark_of_library, warehouse, "shop.events")
    before = rows.count()
    commit(warehouse, "shop.events", pa.table({"day": ["x"], "kind": ["y"]}, schema=EVENTS))
    assert rows.count() == before + 1


def test_a_kind_that_python_does_not_read(
    spark_of_library: SparkSession, judge: Judge, tmp_path: Path
) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT NOT NULL", "v": "INT", "s": "STRING"}, keys=["k"], options=KEYED)
    judge.put(tmp_path, "d.t", [("+I", [1, 5, "a"])])
    judge.put(tmp_path, "d.t", [("+I", [1, 4, "A"])])
    rows = frame(spark_of_library, tmp_path, "d.t")
    assert collected(rows) == ["[1,5,a]"] and judge.rows(tmp_path, "d.t") == [[1, 5, "a"]]


def test_conditions_reduce_what_is_read(spark_of_library: SparkSession, tmp_path: Path) -> None:
    create_table(tmp_path, "d.t", EVENTS, partition_keys=["day"])
    commit(tmp_path, "d.t", pa.table({"day": ["x", "y"], "kind": ["a", "b"]}, schema=EVENTS))
    for path in tmp_path.glob("d.db/t/day=y/*/data-*"):
        path.unlink()
    rows = frame(spark_of_library, tmp_path, "d.t")
    assert collected(rows.where("day = 'x'")) == ["[x,a]"]
    with pytest.raises(Exception, match="day=y"):
        collected(rows)


def test_columns_of_ones_own_are_read_by_python(spark_of_library: SparkSession, warehouse: Path) -> None:
    here = {"warehouse": str(warehouse), "table": "shop.events"}
    rows = spark_of_library.read.format("paimark").schema("kind STRING").options(**here).load()
    assert not is_by_library(rows)
    before = rows.count()
    commit(warehouse, "shop.events", pa.table({"day": ["x"], "kind": ["y"]}, schema=EVENTS))
    assert rows.count() == before + 1


def test_a_frame_has_the_newest_rows_after_columns_came_and_none_after_one_went(
    spark_of_library: SparkSession, warehouse: Path
) -> None:
    rows = frame(spark_of_library, warehouse, "shop.events")
    context, events = context_on(warehouse), TablePath("shop", "events")
    before = rows.count()
    done(context, "alter-branch-schema", events, add="more STRING")
    assert rows.count() == before
    wider = EVENTS.append(pa.field("more", pa.string()))
    commit(warehouse, "shop.events", pa.table({"day": ["x"], "kind": ["y"], "more": ["z"]}, schema=wider))
    assert rows.count() == before + 1
    done(context, "alter-branch-schema", events, rename="kind TO what")
    with pytest.raises(Exception, match=r"shop\.events has no column kind"):
        collected(rows)
