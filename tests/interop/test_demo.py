"""For stock Paimon, the demo is a plain warehouse, with its expired snapshots too."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.storage.open import open_files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.savepoints import SavepointManager
from tests.interop.judge import Judge, comparable
from tests.paimon import read_rows


@pytest.mark.parametrize(
    "table", ["shop.orders", "shop.orders$branch_fix_prices", "shop.events", "shop.customers"]
)
def test_every_table_and_the_branch_read_alike(judge: Judge, demo: Path, table: str) -> None:
    rows = judge.read(demo, table)
    assert rows
    assert rows == comparable(read_rows(demo, table))


def test_savepoint_1_and_the_tags_still_hold_their_rows(judge: Judge, demo: Path) -> None:
    orders = parse_table_name("shop.orders")
    savepoints = SavepointManager(files := open_files(str(demo)), orders).of_root(main_root(files, orders))
    tags = {row["tag_name"]: row["snapshot_id"] for row in judge.read(demo, "shop.orders$tags")}
    assert [tags[f"savepoint.{each.id}"] for each in savepoints] == [4]
    read = {tag: judge.read(demo, "shop.orders", tag=tag) for tag in tags}
    counts = {tag: len(rows) for tag, rows in read.items()}
    assert 0 < counts["v1-launch"] < counts["savepoint.1"] < counts["month-end"]
    assert not any(row["price"].startswith("-") for row in read["month-end"])
    assert any(row["price"].startswith("-") for row in judge.read(demo, "shop.orders"))
