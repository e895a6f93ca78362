"""`verify` and `doctor` name a commit of ours that another engine overwrote, even the newest of all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.actions.context import Context
from paimark.core.table.layout import TablePath
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done
from tests.actions.rewrite.test_overwritten_rewrites import put, theirs
from tests.actions.taking_over import branched
from tests.cli.command import Paimark
from tests.cli.conftest import paimark
from tests.interop.written import Table
from tests.paimon import commit
from tests.spark.library.ways import OwnTable
from tests.verify.test_verify import problem
from tests.wording import about

__all__ = ["paimark"]

TABLE = TablePath("d", "t")
SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int64())])


@pytest.fixture
def table(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    made = OwnTable(tmp_path / "wh", TABLE.full_name, {"k": "INT", "v": "BIGINT"})
    made.write([(1, 1)])
    return made


def stock_commits(table: Table) -> None:
    commit(table.warehouse, table.name, pa.table({"k": [9], "v": [9]}, schema=SCHEMA))


def rolled_back(directory: Path, newest: int = 2) -> bytes:
    """Main ends one snapshot earlier again, as stock engines do it; what was its newest."""
    path = directory / "snapshot"
    data = (path / f"snapshot-{newest}").read_bytes()
    (path / f"snapshot-{newest}").unlink()
    (path / "LATEST").write_text(str(newest - 1))
    return data


def test_a_write_that_was_overwritten_is_named(table: Table, paimark: Paimark) -> None:
    stock_commits(table)
    data = rolled_back(table.directory)
    table.write([(2, 2), (3, 3)])
    assert verify(context_on(table.warehouse), TABLE).is_whole
    put(table.warehouse / "d.db/t/snapshot/snapshot-2", data)
    found = problem(verify(context_on(table.warehouse), TABLE))
    assert (found.cause, found.path) == ("lost", "d.db/t/snapshot/snapshot-2")
    assert "Committed snapshot 2 of d.t: 2 rows added (write by " in found.detail
    result = paimark("doctor", "d.t", "--warehouse", table.warehouse)
    assert result.code == 1 and "Committed snapshot 2 of d.t: 2 rows added" in result.out
    # It stays so when others have built on theirs.
    stock_commits(table)
    assert verify(context_on(table.warehouse), TABLE).lost_count == 1


def test_a_write_that_was_rolled_back_is_not_lost(table: Table) -> None:
    table.write([(2, 2)])
    rolled_back(table.directory)
    stock_commits(table)
    assert verify(context_on(table.warehouse), TABLE).is_whole


def test_a_write_that_another_root_has_is_not_lost(table: Table) -> None:
    stock_commits(table)
    data = rolled_back(table.directory)
    context = context_on(table.warehouse)
    table.write([(2, 2)])
    done(context, "rollback", table=TABLE, to="snapshot.1", truncate=True)
    put(table.warehouse / "d.db/t/snapshot/snapshot-2", data)
    assert verify(context, TABLE).is_whole


def test_a_merge_that_was_overwritten_is_named(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    data = theirs(orders, 6)
    done(context, "merge-branch", name="fix")
    put(orders / "snapshot/snapshot-6", data)
    found = problem(verify(context, ORDERS))
    assert found.cause == "lost"
    assert about("merged branch fix", "into main", "shop.orders").search(found.detail)


def test_a_log_that_can_not_be_read_is_told(table: Table) -> None:
    [entry] = (table.warehouse / "d.db/t/branch/operations").iterdir()
    entry.write_bytes(b"{")
    report = verify(context_on(table.warehouse), TABLE)
    assert report.is_whole and about("can't", "told").search(report.warnings[0])
