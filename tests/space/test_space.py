"""Each row's bytes are those that the plan of its deletion frees, and all rows add up to what is there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import action
from paimark.core.space.report import SpaceReport, SpaceRow, sentences
from paimark.core.space.space import space
from paimark.core.storage.files import DirectoryEntry, Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import ORDERS, context_on, done
from tests.actions.garbage.test_unreferenced import random_history
from tests.actions.histories import TABLE
from tests.actions.taking_over import branched
from tests.long import unhurried
from tests.storage.wrapped import Wrapped

DELETABLE = ("savepoint", "tag", "branch", "past")


def deletion(context: Context, table: TablePath, row: SpaceRow) -> Plan:
    if row.kind == "savepoint":
        return action("delete-savepoint").plan(context, table, {"id": int(row.name.rpartition(".")[2])})
    if row.kind == "tag":
        return action("delete-tag").plan(context, table, {"name": row.name, "branch": row.branch})
    return action("delete-branch").plan(context, table, {"name": row.name})


def bytes_below(warehouse: Path, table: TablePath) -> int:
    return sum(each.stat().st_size for each in (warehouse / table.directory).rglob("*") if each.is_file())


def assert_exact(context: Context, table: TablePath) -> SpaceReport:
    """It adds up, and each row says what its deletion frees, where that is not refused."""
    report = space(context, table)
    deletable = [each for each in report.rows if each.kind in DELETABLE]
    plans = [(row, deletion(context, table, row)) for row in deletable]
    freed = [(row.name, plan.freed_files, plan.freed_bytes) for row, plan in plans if not plan.refusals]
    assert freed == [(row.name, row.alone_files, row.alone_bytes) for row, plan in plans if not plan.refusals]
    whole = [each for each in report.rows if not each.is_part]
    nobodys = report.records_bytes + report.unneeded_bytes
    assert sum(each.alone_bytes for each in whole) == report.alone_bytes + nobodys
    assert report.alone_bytes + report.shared_bytes + nobodys == report.bytes
    return report


@unhurried(12)
@given(st.randoms(use_true_random=False))
def test_rows_say_what_their_deletion_frees(random: Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Path(directory) / "warehouse"
        random_history(warehouse, random)
        report = assert_exact(context_on(warehouse), TABLE)
        # Manifests of these histories say one byte of files of any size.
        assert report.files == sum(1 for each in (warehouse / TABLE.directory).rglob("*") if each.is_file())


class Expiring(Wrapped):
    """A store in which snapshots expire once, right before the manifests are listed."""

    def __init__(self, inner: Files, expire: Callable[[], object]) -> None:
        super().__init__(inner)
        self._left = [expire]

    def entries(self, path: str) -> list[DirectoryEntry]:
        if path.endswith("/manifest") and self._left:
            self._left.pop()()
        return self.inner.entries(path)


def test_what_expires_meanwhile_is_not_missing(context: Context, warehouse: Path) -> None:
    there = Expiring(context.files, lambda: done(context, "expire-snapshots", retain_last=2))
    assert space(context_on(warehouse, there), ORDERS).missing == 0
    assert len(Lineage(context.files, ORDERS.root()).snapshot_ids()) == 2


def test_every_kind_of_row_adds_up_to_what_is_there(context: Context, warehouse: Path) -> None:
    """Savepoints, a branch made from one, a merge's pin, a main that was replaced, and files of nobody."""
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint")
    branched(context, tag="savepoint.1")
    done(context, "create-tag", name="mine", branch="fix")
    (warehouse / ORDERS.root().consumer("etl")).parent.mkdir()
    (warehouse / ORDERS.root().consumer("etl")).write_text('{"nextSnapshot": 4}')
    stray = warehouse / ORDERS.data_file("", 0, "data-left.parquet")
    stray.write_bytes(b"lost")
    os.utime(stray, (86_400, 86_400))
    report = assert_exact(context, ORDERS)
    rows = {(each.kind, each.name): each for each in report.rows}
    assert report.bytes == bytes_below(warehouse, ORDERS)
    assert rows["orphans", "needed by nothing"].bytes == 4
    assert rows["consumer", "etl"].is_part and rows["consumer", "etl"].bytes > 0
    assert rows["tag", "mine"].branch == "fix" and rows["tag", "mine"].is_part
    assert "4 B unneeded" in next(sentences(report))
    first = min((warehouse / ORDERS.directory).glob("bucket-0/data-*-0.parquet"))
    data = first.read_bytes()
    first.unlink()
    assert assert_exact(context, ORDERS).missing == 1
    first.write_bytes(data)
    done(context, "replace-main-branch", name="fix")
    report = assert_exact(context, ORDERS)
    assert report.bytes == bytes_below(warehouse, ORDERS)
    kinds = {each.kind for each in report.rows}
    assert {"main", "past", "savepoint", "tag", "records", "orphans"} <= kinds
