"""Lineages that pypaimon wrote, and what can be wrong with one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.errors import Corrupt, NotFound, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.paimon import create_table, open_table
from tests.table.lineages import CountingFiles, snapshot_json, write_lineage
from tests.wording import about

ORDERS = TablePath("shop", "orders").root()


@pytest.fixture
def orders(warehouse: Path) -> Lineage:
    return Lineage(LocalFiles(str(warehouse)), ORDERS)


def theirs(warehouse: Path) -> list[Any]:
    """The snapshots as pypaimon lists them."""
    listed: list[Any] = open_table(warehouse, "shop.orders").snapshot_manager().list_snapshots()
    return listed


def test_rows_are_what_pypaimon_lists_newest_first(orders: Lineage, warehouse: Path) -> None:
    expected = [
        (
            each.id,
            each.schema_id,
            each.commit_user,
            each.commit_kind,
            each.time_millis,
            each.total_record_count,
        )
        for each in reversed(theirs(warehouse))
    ]
    rows = [
        (r.snapshot_id, r.schema_id, r.commit_user, r.commit_kind, r.commit_time, r.total_record_count)
        for r in orders.rows()
    ]
    assert len(rows) == 5
    assert rows == expected


def test_whole_snapshots_say_what_pypaimon_says(orders: Lineage, warehouse: Path) -> None:
    ours = list(orders.snapshots())
    assert [each.id for each in ours] == [1, 2, 3, 4, 5]
    for mine, other in zip(ours, theirs(warehouse), strict=True):
        assert mine == orders.snapshot(mine.id)
        assert (mine.base_manifest_list, mine.delta_manifest_list) == (
            other.base_manifest_list,
            other.delta_manifest_list,
        )
        assert mine.commit_identifier == other.commit_identifier


def test_ends_of_the_lineage(orders: Lineage) -> None:
    latest = orders.latest()
    assert latest is not None
    assert (orders.earliest_id(), orders.latest_id(), latest.id) == (1, 5, 5)
    assert orders.has_snapshot(5)
    assert not orders.has_snapshot(6)


def test_a_snapshot_that_is_not_there_is_named_with_its_table(orders: Lineage) -> None:
    with pytest.raises(NotFound, match=r"^shop\.orders has no snapshot 9$"):
        orders.snapshot(9)


def test_the_newest_page_lists_nothing(warehouse: Path) -> None:
    counting = CountingFiles(LocalFiles(str(warehouse)))
    page = Lineage(counting, ORDERS).newest(3)
    assert [row.snapshot_id for row in page] == [5, 4, 3]
    assert counting.listings == []
    # The hint, the snapshot it names and the one after it, and the page.
    assert len(counting.reads) == 6


def test_pages_follow_each_other(orders: Lineage) -> None:
    assert [row.snapshot_id for row in orders.newest(2)] == [5, 4]
    assert [row.snapshot_id for row in orders.newest(2, before=4)] == [3, 2]
    assert [row.snapshot_id for row in orders.newest(2, before=2)] == [1]
    assert orders.newest(2, before=1) == []
    assert orders.newest(0) == []


def test_a_table_without_a_commit_has_no_snapshots(tmp_path: Path) -> None:
    create_table(tmp_path, "shop.empty", pa.schema([pa.field("k", pa.int64())]))
    lineage = Lineage(LocalFiles(str(tmp_path)), TablePath("shop", "empty").root())
    ends = (lineage.latest_id(), lineage.earliest_id(), lineage.latest(), lineage.at_or_before(10**15))
    assert ends == (None, None, None, None)
    assert (lineage.rows(), lineage.newest(10), lineage.snapshot_ids(), lineage.tags()) == ([], [], [], [])
    schema = lineage.latest_schema()
    assert schema is not None
    assert [field.name for field in schema.fields] == ["k"]


def test_a_table_dropped_while_open_says_so_once(orders: Lineage, warehouse: Path) -> None:
    shutil.rmtree(warehouse / "shop.db" / "orders")
    for use in (
        orders.latest_id,
        orders.earliest_id,
        orders.latest,
        orders.rows,
        orders.schema_ids,
        orders.latest_schema,
        orders.tags,
        lambda: orders.newest(5),
        lambda: orders.newest(5, before=3),
        lambda: orders.snapshot(3),
        lambda: orders.schema(0),
        lambda: orders.at_or_before(10**15),
    ):
        with pytest.raises(NotFound, match=r"^Table shop\.orders does not exist$"):
            use()


def test_a_table_dropped_between_listing_and_reading_is_no_traceback(warehouse: Path) -> None:
    class DroppedAfterListing(CountingFiles):
        def names(self, directory: str) -> list[str]:
            names = super().names(directory)
            shutil.rmtree(warehouse / "shop.db" / "orders", ignore_errors=True)
            return names

        def etags(self, directory: str) -> dict[str, str | None]:
            return dict.fromkeys(self.names(directory))

    files = LocalFiles(str(warehouse))
    backup = warehouse.with_name("backup")
    shutil.copytree(warehouse, backup)
    assert Lineage(DroppedAfterListing(files), ORDERS).rows() == []
    shutil.copytree(backup, warehouse, dirs_exist_ok=True)
    with pytest.raises(NotFound, match=r"^Table shop\.orders does not exist$"):
        Lineage(DroppedAfterListing(files), ORDERS).at_or_before(10**15)


def test_a_half_written_snapshot_is_left_out_and_told_apart(orders: Lineage, warehouse: Path) -> None:
    path = warehouse / ORDERS.snapshot(3)
    path.write_bytes(path.read_bytes()[:100])
    expected = [5, 4, 2, 1]
    assert [row.snapshot_id for row in orders.rows()] == expected
    assert list(orders.unreadable) == [ORDERS.snapshot(3)]
    assert [row.snapshot_id for row in orders.newest(4)] == expected
    assert [row.snapshot_id for row in orders.newest(3)] == expected[:3]
    assert [each.id for each in orders.snapshots()] == expected[::-1]
    with pytest.raises(Corrupt, match=about("shop.db/orders/snapshot/snapshot-3", "not", "snapshot record")):
        orders.snapshot(3)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"id": "x"}', "\x00\xff", "[" * 100_000])
def test_no_garbage_breaks_the_list(tmp_path: Path, text: str) -> None:
    lineage = write_lineage(tmp_path, {1: 100, 2: 200, 3: 300})
    (tmp_path / lineage.root.snapshot(2)).write_bytes(text.encode("latin-1"))
    assert [row.snapshot_id for row in lineage.rows()] == [3, 1]
    with pytest.raises(Corrupt):
        lineage.snapshot(2)


def test_a_whole_file_stops_being_told_as_unreadable(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {1: 100, 2: 200})
    path = tmp_path / lineage.root.snapshot(2)
    path.write_text("{")
    lineage.rows()
    assert list(lineage.unreadable) == [lineage.root.snapshot(2)]
    path.write_text(snapshot_json(2, 200))
    assert len(lineage.rows()) == 2
    assert lineage.unreadable == {}


def test_files_that_are_no_snapshots_are_not_listed(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {7: 100, 10: 200})
    for name in (
        "LATEST",
        "EARLIEST",
        "snapshot-",
        "snapshot-x",
        "snapshot-٣",
        ".snapshot-11.0a1b",
        "snapshot-012",
    ):
        (tmp_path / lineage.root.snapshots / name).write_text("12")
    (tmp_path / lineage.root.snapshots / "snapshot-99999999999999999999999").write_text("{}")
    assert lineage.snapshot_ids() == [7, 10]
    assert (lineage.earliest_id(), lineage.latest_id()) == (7, 10)


def test_rows_share_their_repeated_strings(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {number: number for number in range(1, 102)})
    first, *_, last = lineage.rows()
    assert first.commit_user == last.commit_user == "user-1"
    assert first.commit_user is last.commit_user


def test_a_branch_is_named_in_errors(tmp_path: Path) -> None:
    root = ORDERS.table.root("fix")
    with pytest.raises(NotFound, match=r"^shop\.orders has no branch fix$"):
        Lineage(LocalFiles(str(tmp_path)), root).latest_id()


def test_tags_are_sorted_and_whole(orders: Lineage, warehouse: Path) -> None:
    open_table(warehouse, "shop.orders").create_tag("a tag", 4)
    assert [(name, tag.id) for name, tag in orders.tags()] == [("a tag", 4), ("v2", 2)]
    assert orders.tag("v2").time_millis == orders.snapshot(2).time_millis
    assert orders.has_tag("v2")
    assert not orders.has_tag("v3")


def test_a_half_written_tag_is_left_out_and_told_apart(orders: Lineage, warehouse: Path) -> None:
    (warehouse / ORDERS.tag("broken")).write_text('{"id": 1')
    (warehouse / ORDERS.tags / ".tag-half.0a1b-2c").write_text("{")
    assert [name for name, _ in orders.tags()] == ["v2"]
    assert orders.tag_names() == ["broken", "v2"]
    assert list(orders.unreadable) == [ORDERS.tag("broken")]
    with pytest.raises(Corrupt, match=about("tag-broken", "not", "tag record")):
        orders.tag("broken")


def test_an_unknown_tag_names_one_like_it(orders: Lineage) -> None:
    with pytest.raises(NotFound, match=r"^shop\.orders has no tag V2$") as caught:
        orders.tag("V2")
    assert caught.value.hint == "Did you mean v2?"


def test_a_tag_like_none_names_the_first_few(orders: Lineage, warehouse: Path) -> None:
    with pytest.raises(NotFound) as caught:
        orders.tag("nightly")
    assert caught.value.hint == "It has v2."
    for number in range(10, 22):
        (warehouse / ORDERS.tag(f"a{number}")).write_bytes((warehouse / ORDERS.tag("v2")).read_bytes())
    with pytest.raises(NotFound) as caught:
        orders.tag("nightly")
    assert caught.value.hint == f"It has {', '.join(f'a{each}' for each in range(10, 20))} and 3 more."


def test_a_tag_with_a_hostile_name_is_told_apart_and_breaks_nothing(orders: Lineage, warehouse: Path) -> None:
    for name in ("tag-\x1b]52;c;x\x07", "tag-a\\b", "tag-"):
        (warehouse / ORDERS.tags / name).write_bytes((warehouse / ORDERS.tag("v2")).read_bytes())
    assert [name for name, _ in orders.tags()] == ["v2"]
    assert sorted(orders.unreadable) == sorted(map(ORDERS.tag, ("\x1b]52;c;x\x07", "a\\b")))
    assert all(sentence.isprintable() for sentence in orders.unreadable.values())


@pytest.mark.parametrize("name", ["", " ", "..", "../../orders/tag/tag-v2", "a/b", "a\\b", "a\nb"])
def test_a_hostile_tag_name_reads_nothing(orders: Lineage, name: str) -> None:
    with pytest.raises(UsageError, match=about("tag", "name")):
        orders.tag(name)
    with pytest.raises(UsageError):
        orders.has_tag(name)


def test_schemas_come_by_id(orders: Lineage, warehouse: Path) -> None:
    text = (warehouse / ORDERS.schema(0)).read_text()
    (warehouse / ORDERS.schema(10)).write_text(
        text.replace('"id" : 0', '"id" : 10', 1).replace('"id": 0', '"id": 10', 1)
    )
    (warehouse / ORDERS.schema(9)).write_text("{")
    assert orders.schema_ids() == [0, 9, 10]
    assert [schema.id for schema in orders.schemas()] == [0, 10]
    latest = orders.latest_schema()
    assert latest is not None
    assert (latest.id, latest.primary_keys, latest.options) == (10, ["order_id"], {"bucket": "2"})
    with pytest.raises(NotFound, match=r"^shop\.orders has no schema 4$"):
        orders.schema(4)
