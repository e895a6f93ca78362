"""A MERGE with a small source first sends its keys to the target: Spark's plan of it says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, live_entries
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.test_killed_changes import TABLE, change

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEADY = "(SELECT CAST(id AS INT) AS k, 10 AS v FROM range(1, 4, 2))"
# It may have other rows when it is read again.
UNSTEADY = STEADY.replace("10 AS v", "10 + CAST(rand() AS INT) AS v")


def plans(spark: SparkSession, after: int = -1) -> dict[int, str]:
    """Those of the statements after one that Spark has told of, by number. It forgets the oldest."""
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    known = spark._jsparkSession.sharedState().statusStore().executionsList()
    told = [known.apply(place) for place in range(known.size())]
    return {each.executionId(): each.physicalPlanDescription() for each in told if each.executionId() > after}


@pytest.mark.parametrize(("source", "is_sent"), [(STEADY, True), (UNSTEADY, False)])
def test_the_keys_of_a_source_that_stays_the_same_are_sent_first(
    source: str, is_sent: bool, tmp_path: Path, spark_of_library: SparkSession
) -> None:
    table = Table(
        tmp_path / "wh", TABLE.full_name, {"k": "INT", "v": "INT"}, keys=("k",), options={"bucket": "1"}
    )
    table.write([(1, 1), (2, 2)])
    before = max(plans(spark_of_library), default=-1)
    sql = f"MERGE INTO d.t t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
    change(
        spark_of_library, LocalFiles(str(table.warehouse)), f"{sql} WHEN NOT MATCHED THEN INSERT *", tmp_path
    )
    assert read_rows(table.warehouse, TABLE.full_name) == [
        {"k": 1, "v": 10},
        {"k": 2, "v": 2},
        {"k": 3, "v": 10},
    ]
    # What a job that stays open writes next is newer than all of them.
    files = LocalFiles(str(table.warehouse))
    newest = Lineage(files, TABLE.root()).latest()
    assert newest is not None
    numbers = [
        (each.file["_MIN_SEQUENCE_NUMBER"], each.file["_MAX_SEQUENCE_NUMBER"])
        for each in live_entries(files, TABLE, data_manifests(files, TABLE, newest))
    ]
    assert sorted(numbers) == [(0, 1), (2, 2)]
    merges = [plan for plan in plans(spark_of_library, before).values() if "MergeRows" in plan]
    assert merges and all(("LeftSemi" in plan) is is_sent for plan in merges)
