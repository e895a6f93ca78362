"""A chain table, written by both: stock Paimon reads main through the chain, and each branch alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.operations import log_entries, read_operations
from tests.actions.acting import context_on, done, planned
from tests.interop.judge import Judge
from tests.interop.writing.chain_tables import CHAIN, OPTIONS, make_branches
from tests.interop.writing.test_row_changes import end_of, refused, said
from tests.spark.datasource.test_table_options import set_options
from tests.spark.engine_fixture import rows
from tests.spark.written_tables import lineage_of
from tests.wording import about

TABLE, FULL, DELTA = "links.chain", "links.`chain$branch_full`", "links.`chain$branch_delta`"


@pytest.fixture
def chain(judge: Judge, engine_warehouse: Path) -> None:
    """Its branches are made as Paimon makes them of a table without rows."""
    columns = {"dt": "STRING", "k": "INT", "v": "INT"}
    judge.create(engine_warehouse, TABLE, columns, keys=["dt", "k"], partitions=["dt"], options=OPTIONS)
    set_options(engine_warehouse, TABLE, CHAIN)
    make_branches(engine_warehouse / "links.db" / "chain")


@pytest.mark.usefixtures("chain")
def test_rows_go_to_each_branch_of_a_chain(
    engine: Engine, engine_warehouse: Path, judge: Judge, is_long: bool
) -> None:
    """Without `--long` no writer is cut off here: `test_chain_overwrites` has that too."""

    def ours() -> list[list[Any]]:
        """Day, key, value."""
        return [[int(day[-1]), k, v] for day, k, v in _found(engine, f"SELECT * FROM {TABLE}")]

    def both() -> list[list[Any]]:
        assert _found(engine, f"SELECT * FROM {TABLE}") == sorted(judge.rows(engine_warehouse, TABLE))
        return ours()

    said(engine, f"INSERT INTO {FULL} VALUES ('20260101', 1, 1), ('20260101', 2, 1)")
    judge.put(engine_warehouse, f"{TABLE}$branch_delta", [("+I", ["20260102", 2, 2])])
    said(engine, f"INSERT INTO {DELTA} VALUES ('20260103', 3, 3)")
    days = [[1, 1, 1], [1, 2, 1], [2, 1, 1], [2, 2, 2]]
    third = [[3, 1, 1], [3, 2, 2]]
    assert both() == [*days, *third, [3, 3, 3]]

    # A row that is deleted there is gone from the chain, also once its files are compacted.
    said(engine, f"DELETE FROM {DELTA} WHERE k = 3")
    said(engine, f"INSERT INTO {DELTA} VALUES ('20260103', 2, 5)")
    said(engine, f"DELETE FROM {DELTA} WHERE dt = '20260103' AND k = 2")
    end_of(engine, f"CALL sys.compact(table => '{TABLE}', branch => 'delta', full => true)")
    assert _found(engine, f"SELECT * FROM {DELTA}") == [["20260102", 2, 2]]
    assert both() == [*days, third[0]]

    # Readers take a day from the snapshot branch, until the delta branch replaces it.
    said(engine, f"INSERT OVERWRITE {FULL} PARTITION (dt = '20260103') VALUES (9, 9)")
    assert both() == [*days, [3, 9, 9]]
    said(engine, f"INSERT OVERWRITE {DELTA} PARTITION (dt = '20260103') VALUES (1, 7)")
    assert both() == [*days, [3, 1, 7], [3, 2, 2]]
    assert judge.rows(engine_warehouse, f"{TABLE}$branch_full")[-1][0] == "20260101"
    lineage = lineage_of(engine_warehouse, TABLE)
    log = read_operations(lineage.files, lineage.root.table)
    assert [each.action for each in log][-2:] == ["insert-overwrite", "delete-from"]
    for _ in range(2):
        end_of(engine, f"CALL sys.undo(table => '{TABLE}')")
    assert both() == [*days, [3, 9, 9]]

    if is_long:
        # As a writer leaves it that died between the two commits: until it is recovered, old rows are read.
        said(engine, f"INSERT OVERWRITE {DELTA} PARTITION (dt = '20260103') VALUES (1, 7)")
        _cut_off(engine_warehouse, lineage)
        assert both() == [*days, [3, 9, 9]]
        context = replace(context_on(engine_warehouse), engine=lambda: engine)
        later = replace(context, clock=lambda: context.clock() + 120_000)
        assert about(TABLE, "whole").search(done(later, "recover", lineage.root.table).message)
        assert both() == [*days, [3, 1, 7], [3, 2, 2]]
        assert about(TABLE, "nothing").search(done(later, "recover", lineage.root.table).message)
        for _ in range(2):
            end_of(engine, f"CALL sys.undo(table => '{TABLE}')")
        assert both() == [*days, [3, 9, 9]]
        said(engine, f"INSERT OVERWRITE {DELTA} PARTITION (dt = '20260103') VALUES (1, 7)")
        _cut_off(engine_warehouse, lineage)
        end_of(engine, f"CALL sys.undo(table => '{TABLE}')")
        assert both() == [*days, [3, 9, 9]] and planned(later, "recover", lineage.root.table).empty

    # Of two earlier days the later one is where the chain begins: Paimon 1.4 takes either.
    said(engine, f"INSERT INTO {DELTA} VALUES ('20260104', 4, 4)")
    assert ours() == [*days, [3, 9, 9], [4, 4, 4], [4, 9, 9]]

    # Rows of main hide the chain's of their day. To bring a branch of the chain to main would hide all.
    said(engine, f"INSERT INTO {TABLE} VALUES ('20260102', 8, 8)")
    assert ours() == [*days[:2], [2, 8, 8], [3, 9, 9], [4, 4, 4], [4, 9, 9]]
    assert "cannot be dropped" in refused(engine, f"DELETE FROM {FULL} WHERE dt = '20260101'")[0]
    for call in ("merge_branch", "replace_main_branch"):
        message, _ = refused(engine, f"CALL sys.{call}(table => '{TABLE}', name => 'delta')")
        assert about("branch delta", TABLE, "chain-table.enabled").search(message)
    message, _ = refused(engine, f"CALL sys.delete_branch(table => '{TABLE}', name => 'full')")
    assert about("rows", "branch full").search(message)


def _cut_off(warehouse: Path, lineage: Lineage) -> None:
    """Take away what the commit to the snapshot branch brought."""
    table = lineage.root.table
    full = branch_root(lineage.files, table, "full")
    newest = Lineage(lineage.files, full).latest_id() or 0
    (warehouse / full.snapshot(newest)).unlink()
    (warehouse / full.latest_hint).write_text(str(newest - 1))
    entry = log_entries(lineage.files, table)[-1]
    assert entry.token.endswith("chain")
    (warehouse / table.operations / entry.name).unlink()


def _found(engine: Engine, sql: str) -> list[list[Any]]:
    return sorted(list(row.values()) for row in rows(engine, sql))
