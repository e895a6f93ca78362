"""ANALYZE TABLE: statistics that stock Paimon reads, on the table's rows as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from tests.interop.judge import Judge
from tests.spark.engine_fixture import rows
from tests.wording import about

COLUMNS = {"k": "INT", "s": "STRING", "d": "DATE", "n": "DECIMAL(5, 2)", "t": "TIMESTAMP(3)", "b": "BOOLEAN"}


def run(engine: Engine, sql: str) -> Finished | Failed:
    *_, end = run_statement(context_for(engine), sql, call=CallMode(agree=lambda action, plan: None))
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
    assert isinstance(end, Finished) and about("statistics", "k, s, d and 3 more").search(end.message)
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
        ("", "", "COMPUTE STATISTICS only"),
        (" COMPUTE STATISTICS NOSCAN", "NOSCAN", "COMPUTE STATISTICS ends"),
        (" PARTITION (dt = 1) COMPUTE STATISTICS", "PARTITION", "COMPUTE STATISTICS only"),
        (" COMPUTE STATISTICS FOR COLUMNS", "", "ends columns"),
        (" COMPUTE STATISTICS FOR COLUMNS nix", "shop.orders", "no column nix"),
    ],
)
def test_other_forms_are_refused(engine: Engine, behind: str, at: str, said: str) -> None:
    sql = f"ANALYZE TABLE shop.orders{behind}"
    end = run(engine, sql)
    assert isinstance(end, Failed) and about(*said.split()).search(end.message)
    assert end.position is not None and sql[end.position :].startswith(at)
