"""Stock expiry does not pass a running commit of Paimark, so that a recovery can find the commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.change.landing import hold_expiry, release_expiry
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import parse_table_name
from tests.interop.judge import Judge

TOKEN = 32 * "a"
TABLES = ["shop.orders", "shop.events"]


@pytest.mark.parametrize("table", TABLES)
def test_stock_expiry_stops_before_it(judge: Judge, warehouse: Path, table: str) -> None:
    root, files = parse_table_name(table).root(), LocalFiles(str(warehouse))
    rows = judge.read(warehouse, table)
    newest = max(int(row["snapshot_id"]) for row in judge.read(warehouse, f"{table}$snapshots"))
    hold_expiry(files, root, TOKEN, newest)
    for _ in range(3):
        judge.write(warehouse, table, rows[:1])
    judge.expire(warehouse, table)
    assert files.exists(root.snapshot(newest)) and not files.exists(root.snapshot(newest - 1))
    release_expiry(files, root, TOKEN)
    judge.expire(warehouse, table)
    assert not files.exists(root.snapshot(newest))
