"""What `paimark` reads: lists, versions, and their rows as Arrow without Spark."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimark
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.system_tables import system_table
from tests.conftest import ORDERS as SCHEMA
from tests.interop.ours import act
from tests.paimon import commit, create_table, read_rows
from tests.wording import about

ORDERS = TablePath("shop", "orders")


@pytest.fixture(autouse=True)
def state(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))


@pytest.fixture
def orders(warehouse: Path) -> paimark.Table:
    return paimark.open(warehouse).table("shop.orders")


def by_id(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(records, key=lambda row: int(row["order_id"]))


def test_a_warehouse_lists_its_tables(warehouse: Path) -> None:
    opened = paimark.open(warehouse)
    assert opened.databases() == ["shop"]
    assert [table.name for table in opened.tables()] == ["shop.events", "shop.orders"]
    assert [table.name for table in opened.tables("shop")] == ["shop.events", "shop.orders"]
    assert (repr(opened), repr(opened.tables()[0])) == (f"Warehouse('{warehouse}')", "Table('shop.events')")
    with pytest.raises(paimark.NotFound, match=r"shop\.order") as raised:
        opened.table("shop.order")
    assert "orders" in raised.value.hint


def test_lists_have_what_the_system_tables_have(warehouse: Path, orders: paimark.Table) -> None:
    act(warehouse, "create-savepoint", "shop.orders", comment="kept")
    act(warehouse, "create-branch", "shop.orders", name="fix", tag="savepoint.1")
    files = LocalFiles(str(warehouse))

    def expected(name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in system_table(name).read(files, ORDERS.root())]

    def field_values(records: list[Any]) -> list[tuple[Any, ...]]:
        return [tuple(getattr(each, name) for name in each.__struct_fields__) for each in records]

    assert field_values(orders.snapshots()) == expected("snapshots")[::-1]
    assert [each.snapshot_id for each in orders.snapshots(limit=2)] == [5, 4]
    # After the columns come the fields of its file.
    assert [each[:11] for each in field_values(orders.savepoints())] == expected("savepoints")
    assert field_values(orders.tags()) == expected("tags")
    assert field_values(orders.branches()) == expected("branches")
    assert field_values(orders.operations()) == expected("operations")
    assert [each.snapshot_id for each in orders.snapshots(branch="fix")] == [5]


def test_a_schema_has_its_columns_as_sql_writes_them(orders: paimark.Table) -> None:
    [schema] = orders.schemas()
    assert [(each.name, each.type) for each in schema.fields] == [
        ("order_id", "BIGINT NOT NULL"),
        ("customer", "STRING"),
        ("price", "DOUBLE"),
    ]
    assert (schema.primary_keys, schema.options["bucket"]) == (("order_id",), "2")


def test_a_half_written_file_is_left_out_and_told(
    warehouse: Path, orders: paimark.Table, caplog: pytest.LogCaptureFixture
) -> None:
    (warehouse / ORDERS.root().snapshot(3)).write_bytes(b'{"id"')
    assert [each.snapshot_id for each in orders.snapshots()] == [5, 4, 2, 1]
    [record] = caplog.records
    assert (record.name, record.levelno) == ("paimark", logging.WARNING)
    assert "snapshot-3" in record.getMessage()


@pytest.mark.parametrize(
    ("version", "name"), [(2, "snapshot.2"), ("2", "snapshot.2"), ("snapshot.2", "snapshot.2"), ("v2", "v2")]
)
def test_a_version_has_the_rows_of_then(
    warehouse: Path, orders: paimark.Table, version: str | int, name: str
) -> None:
    at_version = orders.at(version)
    assert (at_version.name, at_version.branch, at_version.table) == (name, "main", "shop.orders")
    assert at_version.snapshot is not None and at_version.snapshot.snapshot_id == 2
    assert by_id(at_version.to_arrow().to_pylist()) == by_id(read_rows(warehouse, "shop.orders", tag="v2"))


def test_the_newest_state_is_read_where_no_version_is_named(warehouse: Path, orders: paimark.Table) -> None:
    newest = orders.at()
    assert newest.name is None
    assert by_id(newest.to_arrow().to_pylist()) == by_id(read_rows(warehouse, "shop.orders"))


def test_rows_come_in_the_columns_asked_for_and_as_many(orders: paimark.Table) -> None:
    version = orders.at("v2")
    assert version.to_arrow(["price", "order_id"], limit=3).shape == (3, 2)
    assert version.to_arrow(["price", "order_id"]).schema == pa.schema([SCHEMA.field(2), SCHEMA.field(0)])
    assert version.to_arrow(limit=0).schema == SCHEMA
    with version.to_arrow_batch_reader(columns=["customer"], limit=4) as reader:
        assert reader.read_all().shape == (4, 1)


@pytest.mark.parametrize(
    ("columns", "limit", "words"),
    [
        (["prise"], None, "no column 'prise'"),
        ([], None, "list of names"),
        ("price", None, "list of names"),
        (["price", "price"], None, "twice"),
        (None, -1, "limit"),
    ],
)
def test_rows_that_make_no_sense_are_refused(
    orders: paimark.Table, columns: list[str] | None, limit: int | None, words: str
) -> None:
    with pytest.raises(paimark.UsageError, match=words):
        orders.at().to_arrow(columns, limit)


def test_a_time_is_answered_with_the_state_of_then(orders: paimark.Table) -> None:
    second = orders.snapshots()[-2]
    assert orders.at_time(second.commit_time).name == "snapshot.2"
    just_before = datetime.fromtimestamp(second.commit_time / 1000, UTC) - timedelta(milliseconds=1)
    assert orders.at_time(just_before).name == "snapshot.1"
    with pytest.raises(paimark.NotFound, match=about("shop.orders", "nothing", "old")):
        orders.at_time(0)
    with pytest.raises(paimark.UsageError, match="no time zone"):
        orders.at_time(datetime(2026, 5, 1))


def test_a_version_that_is_none_is_refused(orders: paimark.Table) -> None:
    with pytest.raises(paimark.NotFound, match="snapshots 1 to 5 exist"):
        orders.at(9)
    for wrong in (True, 1.5):
        with pytest.raises(paimark.UsageError, match="a text or a snapshot's id"):
            orders.at(wrong)  # type: ignore[arg-type]


def test_a_savepoint_is_found_on_the_branch_that_has_it(warehouse: Path, orders: paimark.Table) -> None:
    act(warehouse, "create-branch", "shop.orders", name="fix", tag="v2")
    more = {"order_id": [99], "customer": ["x"], "price": [1.0]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(more, schema=SCHEMA))
    act(warehouse, "create-savepoint", "shop.orders", branch="fix")
    version = orders.at("savepoint.1")
    assert version.branch == "fix"
    assert by_id(version.to_arrow().to_pylist()) == by_id(read_rows(warehouse, "shop.orders$branch_fix"))
    assert orders.at(branch="fix").to_arrow().num_rows == version.to_arrow().num_rows


def test_an_older_version_has_the_columns_of_then(warehouse: Path, orders: paimark.Table) -> None:
    act(warehouse, "alter-branch-schema", "shop.orders", add="note STRING")
    assert orders.at(5).to_arrow().column_names == SCHEMA.names
    assert orders.at().to_arrow().column_names == [*SCHEMA.names, "note"]


def test_a_table_without_snapshots_has_columns_and_no_rows(warehouse: Path) -> None:
    create_table(warehouse, "shop.empty", SCHEMA)
    version = paimark.open(warehouse).table("shop.empty").at()
    assert version.snapshot is None
    assert version.to_arrow().shape == (0, 3)


def test_a_table_that_would_be_misread_is_refused_by_name(warehouse: Path) -> None:
    create_table(warehouse, "shop.chained", SCHEMA, options={"scan.fallback-branch": "other"})
    chained = paimark.open(warehouse).table("shop.chained")
    with pytest.raises(paimark.Refused, match=about("shop.chained", "scan.fallback-branch")):
        chained.at().to_arrow()
    assert chained.at(branch="main").to_arrow().num_rows == 0


def test_a_file_that_is_gone_is_named(warehouse: Path, orders: paimark.Table) -> None:
    version = orders.at()
    for file in (warehouse / "shop.db/orders/bucket-0").iterdir():
        file.unlink()
    with pytest.raises(paimark.NotFound, match=about("file", "shop.orders", "needs")):
        version.to_arrow()
    with pytest.raises(paimark.NotFound), version.to_arrow_batch_reader() as reader:
        reader.read_all()


def test_a_version_stays_the_same_while_the_table_goes_on(warehouse: Path, orders: paimark.Table) -> None:
    version = orders.at()
    before = by_id(version.to_arrow().to_pylist())
    more = {"order_id": [99], "customer": ["x"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(more, schema=SCHEMA))
    assert by_id(version.to_arrow().to_pylist()) == before
    assert orders.at().to_arrow().num_rows == len(before) + 1


def test_no_secret_is_shown(tmp_path: Path) -> None:
    opened = paimark.open(tmp_path, options={"s3.access-key": "who", "s3.secret-key": "hush-hush"})
    create_table(tmp_path, "a.t", SCHEMA)
    version = opened.table("a.t").at()
    assert "hush" not in f"{opened!r} {version!r} {opened.table('a.t')._session!r}"
