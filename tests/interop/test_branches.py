"""Stock Paimon reads and writes the branches that we make, and its clean-ups spare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ORDERS
from tests.interop.judge import Judge, JudgeError, comparable
from tests.interop.ours import act
from tests.paimon import create_table, read_rows

TABLES = ["shop.orders", "shop.events"]


@pytest.mark.parametrize("table", TABLES)
def test_a_branch_holds_the_rows_of_its_savepoint(judge: Judge, warehouse: Path, table: str) -> None:
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    rows = judge.read(warehouse, table, snapshot=1)
    assert rows != judge.read(warehouse, table)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows
    assert [row["branch_name"] for row in judge.read(warehouse, f"{table}$branches")] == ["fix"]


@pytest.mark.parametrize("table", TABLES)
def test_stock_paimon_writes_to_our_branch_and_main_stays(judge: Judge, warehouse: Path, table: str) -> None:
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    main = judge.read(warehouse, table)
    judge.write(warehouse, f"{table}$branch_fix", main)
    judge.compact(warehouse, f"{table}$branch_fix")
    rows = judge.read(warehouse, f"{table}$branch_fix")
    assert rows != judge.read(warehouse, table, tag="savepoint.1")
    assert comparable(read_rows(warehouse, f"{table}$branch_fix")) == rows
    assert comparable(read_rows(warehouse, table)) == judge.read(warehouse, table) == main


@pytest.mark.parametrize("table", TABLES)
def test_a_branch_is_made_from_a_savepoint_whose_snapshot_expired(
    judge: Judge, warehouse: Path, table: str
) -> None:
    rows = judge.read(warehouse, table, snapshot=1)
    act(warehouse, "create-savepoint", table, snapshot=1)
    judge.expire(warehouse, table)
    with pytest.raises(JudgeError):
        judge.read(warehouse, table, snapshot=1)
    act(warehouse, "create-branch", table, name="fix", tag="savepoint.1")
    judge.clean_orphans(warehouse, table)
    assert judge.read(warehouse, f"{table}$branch_fix") == rows


def test_commits_on_our_branch_spare_the_savepoints_of_main(judge: Judge, tmp_path: Path) -> None:
    """Stock Paimon expires at each commit here, and on a branch it looks at main's nearest tag only."""
    keep_one = {"bucket": "1", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    create_table(tmp_path, "shop.orders", ORDERS, primary_keys=["order_id"], options=keep_one)
    saved = {}
    for number in (1, 2):
        judge.write(tmp_path, "shop.orders", [{"order_id": 1, "customer": f"c{number}", "price": 1.0}])
        judge.compact(tmp_path, "shop.orders")
        act(tmp_path, "create-savepoint", "shop.orders")
        saved[f"savepoint.{number}"] = judge.read(tmp_path, "shop.orders")
    act(tmp_path, "create-branch", "shop.orders", name="fix", tag="savepoint.1")
    branch = "shop.orders$branch_fix"
    for number in (3, 4, 5):
        judge.write(tmp_path, branch, [{"order_id": 1, "customer": f"c{number}", "price": 1.0}])
    judge.compact(tmp_path, branch)
    judge.write(tmp_path, branch, [{"order_id": 1, "customer": "c6", "price": 1.0}])
    assert {tag: judge.read(tmp_path, "shop.orders", tag=tag) for tag in saved} == saved
