"""Where a branch parts from main, and how far each went since."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import Corrupt
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit
from tests.table.branches import create_branch
from tests.table.lineages import TABLE, CountingFiles, write_lineage

ORDERS = TablePath("shop", "orders")
BRANCH = ORDERS.root("fix")
ROW = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}


def fork_of(warehouse: Path) -> Fork:
    files = LocalFiles(str(warehouse))
    return find_fork(Side(files, ORDERS.root()), Side(files, BRANCH))


@pytest.fixture
def forked(warehouse: Path) -> Path:
    """Branch `fix` from tag `v2` (snapshot 2 of 5), with two commits of its own."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    for _ in range(2):
        commit(warehouse, "shop.orders$branch_fix", pa.table(ROW, schema=ORDERS_SCHEMA))
    return warehouse


def test_the_fork_is_the_newest_snapshot_that_both_hold(forked: Path) -> None:
    assert fork_of(forked) == Fork(2, ahead=2, behind=3, is_proven=True)


def test_a_tag_is_enough_to_know_the_fork(forked: Path) -> None:
    for number in (1, 2, 3):
        (forked / ORDERS.root().snapshot(number)).unlink()
    (forked / BRANCH.snapshot(2)).unlink()
    assert fork_of(forked) == Fork(2, ahead=2, behind=3, is_proven=True)


def test_where_main_has_lost_it_the_branch_says_what_it_was_made_from(forked: Path) -> None:
    for number in (1, 2, 3):
        (forked / ORDERS.root().snapshot(number)).unlink()
    (forked / ORDERS.root().tag("v2")).unlink()
    assert fork_of(forked) == Fork(2, ahead=2, behind=3, is_proven=False)


def test_lineages_of_which_nothing_tells_have_no_fork(forked: Path) -> None:
    for number in (1, 2, 3):
        (forked / ORDERS.root().snapshot(number)).unlink()
    (forked / ORDERS.root().tag("v2")).unlink()
    (forked / BRANCH.tag("v2")).unlink()
    assert fork_of(forked) == Fork(None, None, None, is_proven=False)


def test_an_equal_id_of_another_commit_is_not_shared(forked: Path) -> None:
    files = LocalFiles(str(forked))
    shared = set(Side(files, ORDERS.root()).snapshot_ids) & set(Side(files, BRANCH).snapshot_ids)
    assert shared == {2, 3, 4}
    assert fork_of(forked).snapshot_id == 2


def test_a_half_written_snapshot_that_could_be_the_fork_is_named(forked: Path) -> None:
    (forked / BRANCH.snapshot(3)).write_bytes(b"{")
    with pytest.raises(Corrupt, match="snapshot-3"):
        fork_of(forked)
    _, fix = branch_rows(LocalFiles(str(forked)), ORDERS)
    assert (fix.branch_name, fix.fork_snapshot_id, fix.ahead, fix.behind) == ("fix", None, None, None)


def test_the_branches_table_says_how_far_each_went(forked: Path) -> None:
    main, fix = branch_rows(LocalFiles(str(forked)), ORDERS)
    assert (main.fork_snapshot_id, main.ahead, main.behind) == (None, None, None)
    assert (fix.fork_snapshot_id, fix.ahead, fix.behind) == (2, 2, 3)


def test_a_thousand_snapshots_take_a_bisection_of_reads(tmp_path: Path) -> None:
    write_lineage(tmp_path, {number: number * 10 for number in range(1, 1001)})
    write_lineage(tmp_path, {number: number * 10 for number in range(1, 1001)}, TABLE.root("b"))
    files = CountingFiles(LocalFiles(str(tmp_path)))
    fork = find_fork(Side(files, TABLE.root()), Side(files, TABLE.root("b")))
    assert fork == Fork(1000, ahead=0, behind=0, is_proven=True)
    assert len(files.reads) <= 2 * 10
    assert len(files.listings) <= 6
