"""ANALYZE TABLE: statistics that stock Paimon reads, on the table's rows as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.spark.writing.target import find_target
from paimark.core.statements.run import CallMode, run_statement
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import ANALYSIS, read_operations
from tests.faults.fault_files import Death, FaultFiles
from tests.interop.judge import Judge
from tests.spark.engine_fixture import rows
from tests.spark.library.session import writes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"k": "INT", "s": "STRING", "d": "DATE", "n": "DECIMAL(5, 2)", "t": "TIMESTAMP(3)", "b": "BOOLEAN"}


def run(engine: Engine, sql: str) -> Finished | Failed:
    *_, end = run_statement(engine, sql, call=CallMode(agree=lambda action, plan: None))
    assert isinstance(end, Finished | Failed)
    return end


def test_stock_paimon_reads_the_statistics(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    judge.create(engine_warehouse, "analyzed.t", COLUMNS, keys=("k",), options={"bucket": "1"})
    sql = """INSERT INTO analyzed.t VALUES
        (1, 'one', DATE'2026-01-02', -0.05, TIMESTAMP_NTZ'2026-01-02 03:04:05', true),
        (2, 'three', DATE'1999-01-02', 7.00, TIMESTAMP_NTZ'1999-01-02 03:04:05', false),
        (3, NULL, NULL, NULL, NULL, NULL)"""
    for _ in range(2):
        assert isinstance(run(engine, sql), Finished)
    before = rows(engine, "SELECT k, s, d FROM analyzed.t ORDER BY k")
    end = run(engine, "ANALYZE TABLE analyzed.t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert isinstance(end, Finished) and end.message.startswith("Committed statistics of k, s, d and 3 more")
    told = judge.statistics(engine_warehouse, "analyzed.t")
    assert told == {
        "": 3,
        "k": [3, "1", "3", 0, 4],
        "s": [2, None, None, 1, 5],
        "d": [2, "10593", "20455", 1, 4],
        "n": [2, "-0.05", "7.00", 1, 8],
        "t": [2, "1999-01-02T03:04:05", "2026-01-02T03:04:05", 1, 8],
        "b": [2, "false", "true", 1, 1],
    }
    assert rows(engine, "SELECT k, s, d FROM analyzed.t ORDER BY k") == before
    # They stay with the commits that follow, until the columns change.
    assert isinstance(run(engine, "INSERT INTO analyzed.t (k) VALUES (4)"), Finished)
    assert judge.statistics(engine_warehouse, "analyzed.t") == told
    assert isinstance(run(engine, "ALTER TABLE analyzed.t ADD COLUMN e INT"), Finished)
    end = run(engine, "ANALYZE TABLE analyzed.t COMPUTE STATISTICS FOR COLUMNS `k`, e")
    assert isinstance(end, Finished)
    told = judge.statistics(engine_warehouse, "analyzed.t")
    assert told == {"": 4, "k": [4, "1", "4", 0, 4], "e": [0, None, None, 4, 4]}
    for _ in range(2):
        assert isinstance(run(engine, "CALL sys.undo(table => 'analyzed.t')"), Finished)
    assert rows(engine, "SELECT k, s, d FROM analyzed.t ORDER BY k") == before


@pytest.mark.parametrize(
    ("behind", "at", "said"),
    [
        ("", "", "COMPUTE STATISTICS is the only form"),
        (" COMPUTE STATISTICS NOSCAN", "NOSCAN", "ends with COMPUTE STATISTICS"),
        (" PARTITION (dt = 1) COMPUTE STATISTICS", "PARTITION", "is the only form"),
        (" COMPUTE STATISTICS FOR COLUMNS", "", "or with columns"),
        (" COMPUTE STATISTICS FOR COLUMNS nix", "shop.orders", "There is no column nix"),
    ],
)
def test_other_forms_are_refused(engine: Engine, behind: str, at: str, said: str) -> None:
    sql = f"ANALYZE TABLE shop.orders{behind}"
    end = run(engine, sql)
    assert isinstance(end, Failed) and said in end.message
    assert end.position is not None and sql[end.position :].startswith(at)


def test_a_kill_leaves_them_or_nothing(spark_of_library: SparkSession, tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", COLUMNS, keys=("k",), options={"bucket": "1"})
    judge.put(tmp_path, "d.t", [("+I", [1, "one", None, None, None, None])])
    files, table = LocalFiles(str(tmp_path)), TablePath("d", "t")
    target = find_target({"warehouse": str(tmp_path), "table": "d.t"}, False)
    counted = spark_of_library.sql("SELECT count(*) AS n FROM VALUES (1) AS t(k)")
    expected, points = judge.rows(tmp_path, "d.t"), 0
    while True:
        head = Lineage(files, table.root()).latest()
        assert head is not None
        more = {"head": head.to_json().decode(), "known": head.id, "operation": ANALYSIS, "may_go_on": True}
        dying = FaultFiles(files, points + 1)
        try:
            done = replace(target, commit_user=f"u{points}", **more)
            writes_of(spark_of_library, dying).describe(done, counted, (), 10)
            break
        except Death:
            points += 1
        assert judge.rows(tmp_path, "d.t") == expected
        newest = Lineage(files, table.root()).latest()
        assert newest is not None
        landed = [each for each in read_operations(files, table) if each.landed is not False]
        assert len(landed) == newest.id - 1
    assert points >= 3
    assert judge.statistics(tmp_path, "d.t") == {"": 1}
