"""Stock Paimon reads Paimark's savepoints as tags, and its clean-ups spare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.storage.open import open_files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import each_needed_file, live_entries, missing_files
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.savepoints import SavepointManager
from tests.interop.judge import Judge, JudgeError, Row, comparable
from tests.interop.ours import act
from tests.paimon import read_rows

TABLES = ["shop.orders", "shop.events"]


def rewrite_and_forget(judge: Judge, warehouse: Path, table: str, rows: list[Row]) -> None:
    """Do to a table what a busy month does: new rows, compaction, expiry, orphan clean-up."""
    judge.write(warehouse, table, rows)
    judge.compact(warehouse, table)
    judge.expire(warehouse, table)
    judge.clean_orphans(warehouse, table)


@pytest.mark.parametrize("table", TABLES)
def test_a_savepoint_is_a_tag_with_its_snapshots_rows(judge: Judge, warehouse: Path, table: str) -> None:
    outcome = act(warehouse, "create-savepoint", table)
    assert outcome.result["savepoint_id"] == 1
    rows = judge.read(warehouse, table, tag="savepoint.1")
    assert rows == comparable(read_rows(warehouse, table))
    snapshot = outcome.result["saved_snapshot_id"]
    tags = {row["tag_name"]: row["snapshot_id"] for row in judge.read(warehouse, f"{table}$tags")}
    assert tags["savepoint.1"] == snapshot


@pytest.mark.parametrize("table", TABLES)
def test_savepoints_outlive_stock_compaction_expiry_and_orphan_cleaning(
    judge: Judge, warehouse: Path, table: str
) -> None:
    old, new = judge.read(warehouse, table, snapshot=1), judge.read(warehouse, table)
    assert old != new
    act(warehouse, "create-savepoint", table, snapshot=1)
    act(warehouse, "create-savepoint", table)
    for _ in range(2):
        rewrite_and_forget(judge, warehouse, table, old)
    with pytest.raises(JudgeError):
        judge.read(warehouse, table, snapshot=1)
    assert judge.read(warehouse, table, tag="savepoint.1") == old
    assert judge.read(warehouse, table, tag="savepoint.2") == new


def test_a_renamed_tag_keeps_its_rows_through_the_same_month(judge: Judge, warehouse: Path) -> None:
    rows = judge.read(warehouse, "shop.orders", tag="v2")
    act(warehouse, "rename-tag", "shop.orders", name="v2", to="month-end")
    rewrite_and_forget(judge, warehouse, "shop.orders", rows)
    assert judge.read(warehouse, "shop.orders", tag="month-end") == rows


@pytest.mark.parametrize("table", TABLES)
def test_without_a_savepoint_the_same_month_loses_the_rows(judge: Judge, warehouse: Path, table: str) -> None:
    judge.create_tag(warehouse, table, "unsaved", 1)
    tag_file = warehouse / parse_table_name(table).root().tag("unsaved")
    kept = tag_file.read_bytes()
    judge.read(warehouse, table, tag="unsaved")
    tag_file.unlink()
    rewrite_and_forget(judge, warehouse, table, judge.read(warehouse, table))
    tag_file.write_bytes(kept)
    with pytest.raises(JudgeError, match="Failed to read"):
        judge.read(warehouse, table, tag="unsaved")


@pytest.mark.parametrize("table", TABLES)
def test_a_savepoints_own_manifest_list_leads_to_every_file_after_stock_clean_ups(
    judge: Judge, warehouse: Path, table: str
) -> None:
    act(warehouse, "create-savepoint", table, snapshot=2)
    rewrite_and_forget(judge, warehouse, table, judge.read(warehouse, table))
    path, files = parse_table_name(table), open_files(str(warehouse))
    [savepoint] = SavepointManager(files, path).all()
    manifests = read_manifest_list(files, path.savepoint_file(savepoint.full_manifest_list))
    entries = live_entries(files, path, manifests)
    assert sum(entry.file["_ROW_COUNT"] for entry in entries) == savepoint.record_count
    root = main_root(files, path)
    assert missing_files(files, each_needed_file(files, root, Lineage(files, root).tag("savepoint.1"))) == []
