"""Warehouse to databases to tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound, UsageError
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import databases, find_table, table_exists, tables
from paimark.core.table.layout import TablePath
from tests.paimon import create_table
from tests.table.lineages import CountingFiles
from tests.wording import about


@pytest.fixture
def files(warehouse: Path) -> Files:
    return LocalFiles(str(warehouse))


def test_tables_of_a_real_warehouse(files: Files) -> None:
    assert databases(files) == ["shop"]
    assert tables(files, "shop") == [TablePath("shop", "events"), TablePath("shop", "orders")]
    assert find_table(files, "shop.orders") == TablePath("shop", "orders")


def test_only_directories_with_tables_in_them_count(files: Files, warehouse: Path) -> None:
    (warehouse / "notes.txt").touch()
    (warehouse / "file.db").touch()
    (warehouse / "plain").mkdir()
    (warehouse / ".db").mkdir()
    (warehouse / "shop.db/notes").touch()
    (warehouse / "shop.db/empty/schema").mkdir(parents=True)
    (warehouse / "shop.db/other/data").mkdir(parents=True)
    (warehouse / "shop.db/.hidden/schema").mkdir(parents=True)
    (warehouse / "shop.db/.hidden/schema/schema-0").touch()
    (warehouse / "shop.db/ctrl\x1b[31m/schema").mkdir(parents=True)
    (warehouse / "shop.db/ctrl\x1b[31m/schema/schema-0").touch()
    assert databases(files) == ["shop"]
    assert [table.name for table in tables(files, "shop")] == ["events", "orders"]


def test_a_table_that_lives_on_a_branch_alone_is_a_table(files: Files, warehouse: Path) -> None:
    orders = warehouse / "shop.db/orders"
    (orders / "branch/branch-live").mkdir(parents=True)
    (orders / "schema").rename(orders / "branch/branch-live/schema")
    assert TablePath("shop", "orders") in tables(files, "shop")
    assert table_exists(files, TablePath("shop", "orders"))
    assert find_table(files, "shop.orders").name == "orders"


def test_a_table_whose_first_schema_is_gone_is_still_listed(files: Files, warehouse: Path) -> None:
    schemas = warehouse / "shop.db/orders/schema"
    (schemas / "schema-0").rename(schemas / "schema-4")
    assert TablePath("shop", "orders") in tables(files, "shop")


def test_listing_tables_lists_one_directory_and_reads_one_file_each(warehouse: Path) -> None:
    counting = CountingFiles(LocalFiles(str(warehouse)))
    tables(counting, "shop")
    assert counting.listings == ["shop.db"]
    assert len(counting.reads) == 2


def test_unknown_names_come_with_what_is_like_them(files: Files) -> None:
    with pytest.raises(NotFound, match=about("no table shop.order")) as caught:
        find_table(files, "shop.order")
    assert "shop.orders?" in caught.value.hint
    with pytest.raises(NotFound, match=about("no database shp")) as caught:
        find_table(files, "shp.orders")
    assert "shop?" in caught.value.hint


def test_a_table_of_another_database_is_named(files: Files, warehouse: Path) -> None:
    """Also for who left the database out; what is spelled like it comes after what is called so."""
    shutil.copytree(warehouse / "shop.db/orders", warehouse / "finance.db/orders")
    shutil.copytree(warehouse / "shop.db/orders", warehouse / "shop.db/bills")
    shutil.copytree(warehouse / "shop.db/orders", warehouse / "finance.db/bill")
    with pytest.raises(UsageError, match=about("'orders'", "table name")) as told:
        find_table(files, "orders")
    assert "finance.orders or shop.orders?" in told.value.hint
    with pytest.raises(UsageError, match=about("'nothing'", "table name")) as told:
        find_table(files, "nothing")
    assert "database.table" in told.value.hint
    with pytest.raises(NotFound, match=about("no table shop.bill")) as caught:
        find_table(files, "shop.bill")
    assert "finance.bill?" in caught.value.hint


@pytest.mark.parametrize("behind", [":fix", "@12", ":fix@savepoint.1", "$branch_fix", "$snapshots"])
def test_a_branch_behind_the_name_is_no_part_of_it(files: Files, behind: str) -> None:
    with pytest.raises((NotFound, UsageError)) as told:
        find_table(files, f"shop.orders{behind}")
    assert about("shop.orders", "branch", "--branch", "version").search(told.value.hint)


def test_a_database_without_tables_is_empty_and_not_missing(files: Files, warehouse: Path) -> None:
    (warehouse / "new.db").mkdir()
    assert tables(files, "new") == []
    with pytest.raises(NotFound, match="no database newer"):
        tables(files, "newer")


def test_a_warehouse_that_is_not_there_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=about("no warehouse", tmp_path / "gone")) as caught:
        databases(LocalFiles(str(tmp_path / "gone")))
    assert "paimark demo" in caught.value.hint
    assert databases(LocalFiles(str(tmp_path))) == []


def test_a_hostile_name_reaches_no_file(warehouse: Path) -> None:
    counting = CountingFiles(LocalFiles(str(warehouse)))
    with pytest.raises(UsageError):
        find_table(counting, "shop.`../../etc`")
    assert (counting.reads, counting.listings) == ([], [])


def test_names_sort_and_may_be_odd(tmp_path: Path) -> None:
    for name in ("b", "a b", "Ünïcode"):
        create_table(tmp_path, f"shop.{name}", pa.schema([pa.field("k", pa.int64())]))
    files = LocalFiles(str(tmp_path))
    assert [table.name for table in tables(files, "shop")] == ["a b", "b", "Ünïcode"]
    assert find_table(files, "shop.`a b`").name == "a b"
