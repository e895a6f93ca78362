"""Commits to branches are noticed, at the cost of one small read a branch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.tui.panes.branch_heads import BranchHeads
from paimark.tui.session import Opened, Target
from tests.conftest import ORDERS
from tests.paimon import commit, open_table
from tests.table.branches import create_branch
from tests.table.lineages import CountingFiles

TABLE = TablePath("shop", "orders")
NAMES = ("a", "b", "c", "d")


@pytest.fixture
def branched(warehouse: Path) -> Path:
    """Branches a, b, c and d; d has no commit of its own, and no hint."""
    for name in NAMES:
        create_branch(warehouse, "shop.orders", name, "v2")
    for name in NAMES[:-1]:
        add_row(warehouse, name)
    return warehouse


def opened(files: CountingFiles) -> Opened:
    return Opened(Target(TABLE), TABLE.root(), "main", Lineage(files, TABLE.root()))


def add_row(warehouse: Path, branch: str) -> None:
    row = {"order_id": [1], "customer": ["new"], "price": [0.5]}
    commit(warehouse, f"shop.orders$branch_{branch}", pa.table(row, schema=ORDERS))


def test_a_check_reads_each_hint_and_two_snapshots(branched: Path) -> None:
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    before = heads.fingerprint(files, main)
    for _ in range(2 * len(NAMES)):
        files.reads.clear()
        files.listings.clear()
        assert heads.fingerprint(files, main) == before
        assert len(files.listings) <= 2
        assert len([each for each in files.reads if each.endswith("/LATEST")]) == 1 + len(NAMES)
        assert len(files.listings) + len(files.reads) <= len(NAMES) + 4


def test_a_commit_to_any_branch_and_another_branch_are_seen_at_once(branched: Path) -> None:
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    before = heads.fingerprint(files, main)
    add_row(branched, "d")
    after = heads.fingerprint(files, main)
    assert after != before
    assert heads.fingerprint(files, main) == after
    before = heads.fingerprint(files, main)
    create_branch(branched, "shop.orders", "e", "v2")
    assert heads.fingerprint(files, main) != before


def test_a_branch_made_again_with_equal_ids_is_seen_when_its_turn_comes(branched: Path) -> None:
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    before = heads.fingerprint(files, main)
    shutil.rmtree(branched / TABLE.root("c").directory)
    create_branch(branched, "shop.orders", "c", "v2")
    add_row(branched, "c")
    assert any([heads.fingerprint(files, main) != before for _ in range(1 + len(NAMES))])
    before = heads.fingerprint(files, main)
    assert all([heads.fingerprint(files, main) == before for _ in range(1 + len(NAMES))])


def test_a_branch_without_commits_made_again_from_another_tag_is_seen(branched: Path) -> None:
    open_table(branched, "shop.orders").create_tag("v4", 4)
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    before = heads.fingerprint(files, main)
    shutil.rmtree(branched / TABLE.root("d").directory)
    create_branch(branched, "shop.orders", "d", "v4")
    assert any([heads.fingerprint(files, main) != before for _ in range(1 + len(NAMES))])


def test_a_table_made_again_is_seen_at_the_first_check(branched: Path) -> None:
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    before = heads.fingerprint(files, main)
    newest = branched / TABLE.root().snapshot(5)
    newest.write_text(json.dumps({**json.loads(newest.read_bytes()), "timeMillis": 1_800_000_000_000}))
    assert heads.fingerprint(files, main) != before


@pytest.mark.parametrize("hint", [b"", b"five", b"9" * 5000, b"77", b"-1"])
def test_a_hint_that_names_no_snapshot_is_no_error(branched: Path, hint: bytes) -> None:
    files, heads = CountingFiles(LocalFiles(str(branched))), BranchHeads()
    main = opened(files)
    heads.fingerprint(files, main)
    (branched / TABLE.root("b").latest_hint).write_bytes(hint)
    assert heads.fingerprint(files, main) == heads.fingerprint(files, main)
