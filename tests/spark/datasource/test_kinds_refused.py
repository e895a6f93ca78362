"""A table of a kind whose rows can't be written right is refused by every way that would write to it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.statements.insert import action_of_insert
from paimark.core.table.layout import TablePath
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on, done, planned
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.spark.written_tables import lineage_of, order, refused, version
from tests.wording import about

TABLE = TablePath("shop", "orders")
UNSEEN = about("shop.orders", "nobody", "compacted", "lost")
FIRST_ROW = about("shop.orders", "first row", "compacted", "merge-engine = first-row")


@pytest.fixture
def context(warehouse: Path, tmp_path: Path) -> Context:
    """On `shop.orders`, of the first-row kind now, with a branch that is not, and that has moved."""
    context = replace(context_on(warehouse), audit_path=tmp_path / "audit")
    done(context, "create-savepoint", table=TABLE, snapshot=1)
    done(context, "create-branch", table=TABLE, name="b", tag="v2")
    rows = {"order_id": [77], "customer": ["x"], "price": [1.0]}
    commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS))
    make_first_row(warehouse / "shop.db" / "orders")
    return context


def make_first_row(directory: Path) -> None:
    for path in directory.rglob("schema/schema-0"):
        schema = msgspec.json.decode(path.read_bytes())
        schema["options"]["merge-engine"] = "first-row"
        path.write_bytes(msgspec.json.encode(schema))


def test_no_statement_that_brings_rows(context: Context) -> None:
    """An INSERT compacts the rows."""
    for sql in (
        "INSERT INTO shop.orders VALUES (1, 'a', 1)",
        "INSERT OVERWRITE shop.orders VALUES (1, 'a', 1)",
    ):
        plan = action_of_insert(read_statement(sql))[1].plan(context, TABLE, {})
        assert plan.refusals == ()


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("rollback", {"to": "savepoint.1"}),
        ("merge-branch", {"name": "b"}),
        ("replace-main-branch", {"name": "b", "layout": "overwrite"}),
    ],
)
def test_actions_that_write_rows_again(context: Context, action: str, arguments: dict[str, str]) -> None:
    """They would lose those that nobody sees, and a merge never goes."""
    reasons = [each.reason for each in planned(context, action, table=TABLE, **arguments).refusals]
    assert any(map(UNSEEN.search, reasons))
    assert any(map(FIRST_ROW.search, reasons)) == (action == "merge-branch")


def test_actions_that_write_no_rows_go_on(context: Context) -> None:
    assert planned(context, "replace-main-branch", table=TABLE, name="b").refusals == ()
    done(context, "delete-branch", table=TABLE, name="b")
    assert planned(context, "rollback", table=TABLE, to="savepoint.1", truncate=True).refusals == ()


def test_the_engine_itself(engine: Engine, engine_warehouse: Path) -> None:
    """Also where whoever gave the order did not look."""
    shutil.copytree(engine_warehouse / "shop.db" / "orders", engine_warehouse / "firsts.db" / "orders")
    directory = engine_warehouse / "firsts.db" / "orders"
    make_first_row(directory)
    there = {path for path in directory.rglob("*") if path.is_file()}
    lineage = lineage_of(engine_warehouse, "firsts.orders")
    for overwrite, words in ((False, "first row"), (True, "lost")):
        task = order(lineage, "SELECT * FROM old", overwrite=overwrite, old=version(lineage, 2))
        assert about(words).search(refused(engine, task).message)
    assert {path for path in directory.rglob("*") if path.is_file()} == there
