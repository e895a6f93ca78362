"""A table that is dropped, renamed, taken out of the trash and deleted: what stays, and what is refused."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.change import journal
from paimark.core.actions.change.owner import running
from paimark.core.actions.context import Context
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import read_operations
from paimark.core.table.trash import dropped_tables
from tests.actions.acting import ORDERS, contents, context_on, done, item, planned, refused, texts
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit
from tests.wording import about

RENAMED = TablePath("shop", "old orders")


def test_a_dropped_table_comes_back_whole(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-savepoint", snapshot=4)
    before = contents(orders)
    plan = planned(context, "drop-table")
    assert about("drop", "shop.orders", "20 records", "1 branch and 1 savepoint", "trash").search(
        plan.headline
    )
    assert plan.undo == "paimark undrop shop.orders"
    outcome = done(context, "drop-table")
    assert not orders.exists() and ORDERS not in tables(context.files, "shop")
    with pytest.raises(NotFound) as gone:
        find_table(context.files, "shop.orders")
    assert about("`paimark undrop shop.orders`", "trash").search(gone.value.hint)
    [dropped] = dropped_tables(context.files, "shop")
    assert outcome.result == {"dropped_id": dropped.id}
    assert done(context, "undrop").undo == "paimark drop-table shop.orders"
    assert contents(orders) == before
    log = [each.action for each in read_operations(context.files, ORDERS)]
    assert log[-2:] == ["drop-table", "undrop"]
    # What was done before is still undone.
    assert "Deleted savepoint" in done(context, "undo").message


def test_of_several_drops_of_a_name_one_is_chosen(context: Context, orders: Path) -> None:
    shutil.copytree(orders, orders.with_name("copy"))
    done(context, "drop-table")
    orders.with_name("copy").rename(orders)
    done(context, "create-tag", name="second")
    done(context, "drop-table")
    newest, oldest = dropped_tables(context.files, "shop")
    with pytest.raises(UsageError, match=about("2", "dropped")):
        planned(context, "undrop", id="2")
    done(context, "undrop", id=oldest.id)
    assert not (orders / "tag/tag-second").exists()
    assert refused(planned(context, "undrop")) == ["name-is-taken"]
    outcome = done(context, "delete-dropped")
    assert about("can't", "taken back").search(outcome.message) and not dropped_tables(context.files, "shop")
    assert outcome.result["dropped_id"] == newest.id and orders.exists()
    with pytest.raises(NotFound, match=about("no table shop.orders", "trash")):
        planned(context, "undrop")


def test_what_a_job_wrote_after_the_drop_is_in_the_way(context: Context, orders: Path) -> None:
    done(context, "drop-table")
    (orders / "bucket-0").mkdir(parents=True)
    (orders / "bucket-0/data-late.parquet").write_bytes(b"late")
    assert refused(planned(context, "undrop")) == ["name-is-taken"]
    (orders / "bucket-0/data-late.parquet").unlink()
    (orders / "bucket-0").rmdir()
    orders.rmdir()
    done(context, "undrop")


def test_a_drop_that_has_not_ended_is_waited_for(context: Context) -> None:
    done(context, "drop-table")
    [dropped] = dropped_tables(context.files, "shop")
    token, plan = journal.new_token(), planned(context, "undrop")
    with running(context, dropped.place, token):
        journal.take(context, dropped.place, plan, token, "drop-table", {})
        [reason] = refused(planned(context, "undrop"))
        assert about("shop.orders", "being dropped").search(reason)
    # Its process died before it removed its journal.
    done(context, "undrop")
    assert journal.current(context, ORDERS) is None


def test_a_renamed_table_goes_on_under_its_name(context: Context, warehouse: Path, orders: Path) -> None:
    before = contents(orders)
    outcome = done(context, "rename-table", to=RENAMED.name)
    assert outcome.undo == "paimark rename-table 'shop.old orders' --to shop.orders"
    assert contents(warehouse / RENAMED.directory) == before
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.old orders", pa.table(rows, schema=ORDERS_SCHEMA))
    done(context, "create-savepoint", RENAMED)
    done(context, "rename-table", RENAMED, to="shop.orders")
    assert orders.exists()


@pytest.mark.parametrize(
    ("to", "terms"),
    [
        ("orders", ("shop.orders", "name already")),
        ("events", ("shop.db/events", "exists")),
        ("nix.orders", ("no database nix",)),
        ("a\u200bb", ("name", "table", "U+200B")),
    ],
)
def test_a_name_that_can_not_be_given(context: Context, to: str, terms: tuple[str, ...]) -> None:
    [reason] = refused(planned(context, "rename-table", to=to))
    assert about(*terms).search(reason)


@pytest.mark.parametrize("to", ["../x", "a.b.c", ".hidden", "a/b"])
def test_a_name_that_is_none(context: Context, to: str) -> None:
    with pytest.raises(UsageError):
        planned(context, "rename-table", to=to)


def test_iceberg_metadata_name_the_directory(context: Context, orders: Path) -> None:
    (orders / "metadata").mkdir()
    (orders / "metadata/v5.metadata.json").write_text("{}")
    assert refused(planned(context, "rename-table", to="x")) == ["iceberg-names-files"]
    assert refused(planned(context, "drop-table")) == []


def test_a_directory_elsewhere_is_not_moved_by_its_link(context: Context, orders: Path) -> None:
    orders.rename(elsewhere := orders.with_name("elsewhere"))
    orders.symlink_to(elsewhere)
    for name, arguments in (("drop-table", {}), ("rename-table", {"to": "x"})):
        [reason] = refused(planned(context, name, ORDERS, **arguments))
        assert about("link").search(reason)


def test_a_link_below_is_not_followed_when_it_is_deleted(context: Context, orders: Path) -> None:
    (others := orders.with_name("others")).mkdir()
    (others / "precious").write_bytes(b"rows")
    done(context, "drop-table")
    [dropped] = dropped_tables(context.files, "shop")
    trash = orders.parent.parent / dropped.place.directory
    (trash / "linked").symlink_to(others)
    done(context, "delete-dropped")
    assert (others / "precious").read_bytes() == b"rows" and not trash.exists()


def test_who_writes_and_reads_is_told(context: Context, orders: Path) -> None:
    (orders / "consumer").mkdir(exist_ok=True)
    (orders / "consumer/consumer-nightly").write_text('{"nextSnapshot": 3}')
    plan = planned(context, "drop-table")
    assert about("stop", "first").search(item(plan, "jobs-lose-table").text)
    assert item(plan, "streaming-readers").names == ("nightly",)
    [lost] = texts(plan, "loses")
    assert about("shop.orders", "read", "write").search(lost)


@pytest.mark.long
def test_on_hdfs(orders: Path, tmp_path: Path, hdfs: str) -> None:
    files = open_files(f"{hdfs}/{uuid.uuid4().hex}")
    for path, data in contents(orders).items():
        files.create(f"{ORDERS.directory}/{path}", data)
    context = context_on(tmp_path / "lake", files)
    done(context, "drop-table")
    assert not files.entries(ORDERS.directory)
    done(context, "undrop")
    done(context, "rename-table", to="x")
    assert refused(planned(context, "rename-table", TablePath("shop", "x"), to="x"))
    assert files.exists("shop.db/x/schema/schema-0")
    with pytest.raises(Refused, match=about("shop.db/x", "way")):
        files.move("shop.db/x", "shop.db/x")
