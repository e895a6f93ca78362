"""`E` on a row: edits are staged beside the rows, named, asked about when left, and committed as one plan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Reading
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import SchemaField, TableSchema, point_of
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.dialogs.editing.staging import Staging
from paimark.tui.dialogs.editing.target import read_again, target_of, target_of_result
from paimark.tui.dialogs.peek import Peeking
from paimark.tui.query.query_result import QueryResult
from paimark.tui.records.sources import GridColumn, tuples
from paimark.tui.session import Session, Target
from tests.actions.acting import context_on, done
from tests.conftest import ORDERS
from tests.paimon import commit, read_rows
from tests.tui.driving import querying, run, with_engine
from tests.wording import about

COLUMNS = {"id": "INT NOT NULL", "name": "STRING", "price": "DECIMAL(5, 2)", "raw": "BYTES"}
SCHEMA = TableSchema(
    id=0,
    fields=[SchemaField(id=n, name=name, type=kind) for n, (name, kind) in enumerate(COLUMNS.items())],
    highest_field_id=3,
    partition_keys=[],
    primary_keys=["id"],
    options={},
)


def staging() -> Staging:
    one = (1, "one", "1.50", b"x")
    rows: list[tuple[object, ...]] = [one, (2, None, None, None), one, (None, "no key", None, None)]
    return Staging(SCHEMA, [*COLUMNS, "more"], tuples([(*row, 7) for row in rows]))


def test_edits_are_kept_by_the_key_of_the_row_and_told_without_colour() -> None:
    made = staging()
    made.set_cell(0, 1, "")
    made.set_cell(1, 2, "2.00")
    made.delete(1)
    new = made.add()
    made.set_cell(new, 0, "9")
    made.set_cell(new, 1, None)
    assert [made.sign(index) for index in range(len(made))] == ["~", "-", "~", " ", "+"]
    assert made.row(0)[1] == made.row(2)[1] == 'one -> ""'
    assert (made.row(0)[2], made.row(1)[0], made.row(new)[:3]) == ("1.50", "2", ["9", "NULL", None])
    assert [json.loads(line) for line in made.lines().splitlines()] == [
        {"key": {"id": "1"}, "set": {"name": ""}},
        {"key": {"id": "2"}, "delete": True},
        {"key": {"id": "9"}, "add": {"name": None}},
    ]
    # Of what has no exact text nothing is told.
    assert [json.loads(line).get("was") for line in made.lines(tells_old=True).splitlines()] == [
        {"name": "one"},
        {"name": None, "price": None},
        None,
    ]
    # Back to what it was is no edit.
    made.set_cell(0, 1, "one")
    made.delete(1)
    made.delete(new)
    assert made.count == 0
    made.add()
    with pytest.raises(UsageError, match=about("added row", "id")):
        made.lines()


def test_what_can_not_be_edited_is_named() -> None:
    made = staging()
    assert about("key").search(made.why_not(0, 0)) and made.why_not(0, 1) == made.why_not(0, 2) == ""
    assert about("not exact").search(made.why_not(0, 3))
    assert about("table", "no column more").search(made.why_not(0, 4))
    with pytest.raises(UsageError, match=about("1.234", "price")):
        made.set_cell(0, 2, "1.234")
    with pytest.raises(UsageError, match=about("id", "NULL")):
        made.set_cell(3, 1, "x")
    made.delete(0)
    assert about("row", "deleted").search(made.why_not(0, 1))


@pytest.mark.parametrize(
    ("table", "sql", "version", "said"),
    [
        ("shop.orders", "SELECT order_id FROM shop.orders", "snapshot.5, now", ()),
        ("shop.orders", "SELECT 1 FROM shop.orders VERSION AS OF 2", "snapshot.2, then", ("old version",)),
        ("shop.orders", "SELECT order_id FROM shop.orders VERSION AS OF 5", "snapshot.5, now", ()),
        ("shop.orders", "SELECT 1 FROM shop.orders", "v2 (snapshot.2), then", ("old version",)),
        ("shop.orders", "SELECT customer FROM shop.orders", "snapshot.5, now", ("rows", "no order_id")),
        ("shop.orders$snapshots", "SELECT 1", "snapshot.5, now", ("system table",)),
        ("shop.events", "SELECT 1", "snapshot.1, now", ("no primary key",)),
    ],
)
def test_rows_that_are_no_rows_of_a_keyed_table_now_are_refused(
    warehouse: Path, table: str, sql: str, version: str, said: tuple[str, ...]
) -> None:
    result = QueryResult(read_statement(sql), 0, 0.0)
    number = int(version.partition("snapshot.")[2][0])
    read = Lineage(LocalFiles(str(warehouse)), TablePath("shop", "orders").root()).snapshot(number)
    result.readings = [Reading(table, version, "native", point=point_of(read))]
    result.rows = tuples([(1,)])  # type: ignore[assignment]
    result.columns = (GridColumn("customer" if "customer" in sql else "order_id"),)
    if said:
        with pytest.raises(PaimarkError, match=about(*said)):
            target_of_result(context_on(warehouse), result)
    else:
        assert target_of_result(context_on(warehouse), result).table == TablePath("shop", "orders")


@pytest.mark.parametrize(
    ("asked", "is_newest"),
    [(None, True), pytest.param("snapshot.5", True, marks=pytest.mark.long), ("snapshot.2", False)],
)
def test_rows_that_were_the_newest_can_be_edited_after_a_commit(
    warehouse: Path, asked: str | None, is_newest: bool
) -> None:
    target = Target(TablePath("shop", "orders"))
    peeking = Peeking(Session(Settings(str(warehouse))), target, RequestedVersion(None, asked))
    read: list[object] = []
    peeking.read(cast(Any, read.append))
    later = {"order_id": [100], "customer": ["c9"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(later, schema=ORDERS))
    assert len(read) == 1 and peeking.was_newest == is_newest


def test_the_newest_rows_of_an_earlier_main_are_old(warehouse: Path) -> None:
    context = context_on(warehouse)
    done(context, "create-savepoint")
    done(context, "create-branch", name="fix", snapshot=2)
    done(context, "replace-main-branch", name="fix")
    for asked, is_newest in (("savepoint.1", False), ("snapshot.2", True)):
        target = Target(TablePath("shop", "orders"))
        peeking = Peeking(Session(Settings(str(warehouse))), target, RequestedVersion(None, asked))
        read: list[object] = []
        peeking.read(cast(Any, read.append))
        assert len(read) == 1 and peeking.was_newest == is_newest


@pytest.mark.parametrize("replaces", [True, False])
def test_rows_of_another_snapshot_of_the_number_are_compared_by_their_cells(
    warehouse: Path, *, replaces: bool
) -> None:
    context = context_on(warehouse)
    target = Target(TablePath("shop", "orders"))
    peeking = Peeking(Session(Settings(str(warehouse))), target, RequestedVersion())
    read: list[Any] = []
    peeking.read(cast(Any, read.append))
    [(version, rows)] = read
    point = point_of(version.snapshot)
    edited = target_of(context, target.table, None, point, rows.schema.names, was_newest=True)
    assert read_again(context, edited) is None
    later = pa.table({"order_id": [1], "customer": ["another"], "price": [1.0]}, schema=ORDERS)
    if replaces:
        done(context, "create-branch", name="fix", snapshot=4)
        commit(warehouse, "shop.orders$branch_fix", later)
        done(context, "replace-main-branch", name="fix")
    else:
        done(context, "rollback", to="snapshot.4", truncate=True)
        commit(warehouse, "shop.orders", later)
    assert read_again(context, edited) == point.id


async def test_staged_edits_are_asked_about_and_committed(engine_warehouse: Path, engine: Engine) -> None:
    shutil.copytree(engine_warehouse / "shop.db/orders", engine_warehouse / "edits.db/orders")
    session = with_engine(engine_warehouse, engine)
    async with querying(engine_warehouse, (80, 24), session=session) as (console, pane):
        await run(console, pane, "SELECT order_id, customer, price FROM edits.orders ORDER BY order_id")
        await console.sees("✓ ")
        await console.press("escape", "E")
        await console.sees("edits.orders: no edit yet")
        await console.press("l", "e", "ctrl+u", *"new", "enter")
        await console.sees("1 edited row", "-> new")
        await console.press("j", "l", "N", "j", "x")
        await console.sees("3 edited rows", "-> NULL")
        await console.press("escape")
        await console.sees("3 edited rows not committed.", "order_id=3: deleted")
        await console.press("escape", "s")
        await console.sees("Edit 3 rows of main of edits.orders.", "type edits.orders to go on")
        await console.press("c", *"edits.orders", "enter")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("✓ done", "Edited 3 rows in snapshot 6")
        await console.press("escape")
        await console.sees("✓ Edited 3 rows in snapshot 6 of main of edits.orders")
    rows = {row["order_id"]: row for row in read_rows(engine_warehouse, "edits.orders")}
    assert (rows[1]["customer"], rows[2]["price"], 3 in rows) == ("new", None, False)
