"""System tables say what pypaimon's say, under the same names."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound
from paimark.core.storage.local import LocalFiles
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.branches import BranchRow, branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.read_tags import created_ms, retained_text
from paimark.core.table.records import Tag
from paimark.core.table.system_tables import SYSTEM_TABLES, system_table
from tests.paimon import create_table, open_table, read_rows
from tests.table.branches import create_branch
from tests.wording import about

ORDERS = TablePath("shop", "orders")


# Behind Paimon's columns.
OURS = ("protected", "operation", "message", "author")


@pytest.mark.parametrize("name", ["snapshots", "tags", "schemas", "options"])
def test_rows_and_columns_are_pypaimons(warehouse: Path, name: str) -> None:
    ours = [
        dict(zip((column.name for column in SYSTEM_TABLES[name].columns), row, strict=True))
        for row in system_table(name).read(LocalFiles(str(warehouse)), ORDERS.root())
    ]
    theirs = read_rows(warehouse, f"shop.orders${name}")
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs, strict=True):
        assert [each for each in mine if each not in OURS] == list(other)
        for column, value in other.items():
            expected = _epoch_ms(value) if isinstance(value, datetime) else value
            assert _decoded(mine[column]) == _decoded(expected), column


def _epoch_ms(value: datetime) -> int:
    """pypaimon's TIMESTAMP without a zone is UTC's wall clock."""
    return round((value - datetime(1970, 1, 1)).total_seconds() * 1000)


def _decoded(value: object) -> object:
    """JSON text compares by what it says."""
    return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value


def test_columns_have_pypaimons_types(warehouse: Path) -> None:
    for name in ("snapshots", "tags", "schemas", "options"):
        table = open_table(warehouse, f"shop.orders${name}")
        theirs = [(field.name, field.type.type) for field in table.row_type().fields]
        ours = [(each.name, each.type) for each in SYSTEM_TABLES[name].columns if each.name not in OURS]
        assert ours == theirs


def test_files_are_pypaimons_of_any_snapshot(warehouse: Path) -> None:
    files = LocalFiles(str(warehouse))
    for table, keys in ((ORDERS, {"[1]", "[2]"}), (TablePath("shop", "events"), {None})):
        theirs = {row["file_path"]: row for row in read_rows(warehouse, f"{table.full_name}$files")}
        names = [column.name for column in SYSTEM_TABLES["files"].columns]
        ours = [dict(zip(names, row, strict=True)) for row in system_table("files").read(files, table.root())]
        assert len(ours) == len(theirs) > 0
        for row in ours:
            assert Path(row["file_path"]).stat().st_size == row["file_size_in_bytes"]
            other = theirs[Path(row["file_path"]).name]
            # Java has other words for these two, and a time with its milliseconds.
            differing = {"file_path", "partition", "file_source", "creation_time"}
            assert {name: row[name] for name in names if name not in differing} == {
                name: other[name] for name in names if name not in differing
            }
        assert keys <= {row["min_key"] for row in ours}
    of_snapshot = SYSTEM_TABLES["files"].of_snapshot
    assert of_snapshot is not None
    then = list(of_snapshot(files, ORDERS.root(), Lineage(files, ORDERS.root()).snapshot(1)))
    assert 0 < len(then) < len(list(system_table("files").read(files, ORDERS.root())))


def test_a_table_without_snapshots_has_no_files(tmp_path: Path) -> None:
    create_table(tmp_path, "shop.empty", pa.schema([pa.field("a", pa.int64())]), options={"x": "y"})
    files, empty = LocalFiles(str(tmp_path)), TablePath("shop", "empty")
    assert list(system_table("files").read(files, empty.root())) == []
    assert list(system_table("options").read(files, empty.root())) == [("x", "y")]


def test_half_written_files_are_told_and_keep_no_row_from_showing(warehouse: Path) -> None:
    files = LocalFiles(str(warehouse))
    open_table(warehouse, "shop.orders").create_tag("v3", 3)
    (warehouse / ORDERS.root().tag("v3")).write_text("{")
    (warehouse / ORDERS.root().snapshot(3)).write_text("{")
    (warehouse / ORDERS.root().schema(7)).write_text("{")
    (warehouse / ORDERS.savepoints).mkdir()
    (warehouse / ORDERS.savepoint(4)).write_text("{")
    for name, path, left in (
        ("tags", ORDERS.root().tag("v3"), 1),
        ("snapshots", ORDERS.root().snapshot(3), 4),
        ("schemas", ORDERS.root().schema(7), 1),
        ("savepoints", ORDERS.savepoint(4), 0),
    ):
        unreadable: dict[str, str] = {}
        assert len(list(system_table(name).read(files, ORDERS.root(), unreadable))) == left
        assert list(unreadable) == [path]


def test_a_branch_with_its_retention_off_is_healthy(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "zoo", "v2")
    path = warehouse / ORDERS.root("zoo").schema(0)
    schema = json.loads(path.read_text())
    schema["options"] |= RETENTION_OFF
    path.write_text(json.dumps(schema))
    create_branch(warehouse, "shop.orders", "torn", "v2")
    (warehouse / ORDERS.root("torn").schema(0)).write_text("{")
    healths = {row.branch_name: row.health for row in branch_rows(LocalFiles(str(warehouse)), ORDERS)}
    assert healths == {"main": "ok", "torn": "unreadable", "zoo": "ok"}


def test_branches_begin_with_main_and_stock_columns(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "zoo", "v2")
    create_branch(warehouse, "shop.orders", "fix")
    files = LocalFiles(str(warehouse))
    main, fix, zoo = branch_rows(files, ORDERS)
    assert (main.branch_name, main.is_main, main.created_from) == ("main", True, None)
    assert (main.earliest_snapshot_id, main.latest_snapshot_id) == (1, 5)
    assert fix == BranchRow("fix", fix.create_time, False, None, None, None, health="exposed")
    assert zoo == BranchRow("zoo", zoo.create_time, False, "v2", 2, 2, 2, 0, 3, "exposed")
    assert main.create_time is not None
    assert zoo.create_time is not None
    assert fix.create_time is not None
    assert main.create_time <= zoo.create_time <= fix.create_time
    assert [column.name for column in SYSTEM_TABLES["branches"].columns] == [*BranchRow._fields, "protected"]
    rows = list(system_table("branches").read(files, ORDERS.root("zoo")))
    assert rows == [(*each, None) for each in (main, fix, zoo)]


def test_the_branch_that_is_main_comes_first_and_once(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "zoo", "v2")
    (warehouse / ORDERS.main_branch_file).write_text("zoo")
    names = [(row.branch_name, row.is_main) for row in branch_rows(LocalFiles(str(warehouse)), ORDERS)]
    assert names == [("zoo", True)]


def test_a_table_that_is_gone_has_no_branches(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"^Table shop\.orders does not exist$"):
        list(branch_rows(LocalFiles(str(tmp_path)), ORDERS))


def test_an_unknown_system_table_names_those_there_are() -> None:
    with pytest.raises(NotFound, match=about("no", "system table BRANCH_Fix")) as caught:
        system_table("BRANCH_Fix")
    assert caught.value.hint == "Did you mean branch_Fix?"
    with pytest.raises(NotFound) as caught:
        system_table("fix")
    assert caught.value.hint.endswith(", files, and branch_NAME for a branch.")
    with pytest.raises(NotFound, match=about("no", "system table snapshot")) as caught:
        system_table("snapshot")
    assert caught.value.hint == "Did you mean snapshots?"
    with pytest.raises(NotFound) as caught:
        system_table("zzz")
    assert "savepoints" in caught.value.hint


def test_a_tag_with_a_ttl_says_when_it_was_made_and_how_long_it_stays(warehouse: Path) -> None:
    before = datetime.now().timestamp() * 1000
    open_table(warehouse, "shop.orders").create_tag("soon", 3, time_retained="1 d")
    files = LocalFiles(str(warehouse))
    soon, _ = list(system_table("tags").read(files, ORDERS.root()))
    assert soon[0] == "soon"
    assert before - 1000 <= soon[5] <= datetime.now().timestamp() * 1000 + 1000
    assert soon[6] == "PT24H"


def tag(created: list[int] | None, retained: float | None) -> Tag:
    return Tag(
        id=1,
        schema_id=0,
        base_manifest_list="b",
        delta_manifest_list="d",
        commit_user="u",
        commit_identifier=1,
        commit_kind="APPEND",
        time_millis=0,
        tag_create_time=created,
        tag_time_retained=retained,
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([2026, 5, 1, 12, 30, 15, 123_456_789], datetime(2026, 5, 1, 12, 30, 15, 123_000)),
        ([2026, 5, 1, 12, 30, 15], datetime(2026, 5, 1, 12, 30, 15)),
        ([2026, 5, 1, 12, 30], datetime(2026, 5, 1, 12, 30)),
    ],
)
def test_java_leaves_out_the_zeros_at_the_end_of_a_time(parts: list[int], expected: datetime) -> None:
    assert created_ms(tag(parts, None)) == int(expected.timestamp() * 1000)


def test_a_time_that_is_none_is_no_traceback() -> None:
    assert created_ms(tag([2026, 13, 45, 0, 0], None)) is None
    assert created_ms(tag([], None)) is None
    assert created_ms(tag(None, None)) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(86400, "PT24H"), (5400, "PT1H30M"), (61.5, "PT1M1.5S"), (0, "PT0S"), (None, None)],
)
def test_a_time_to_live_is_written_as_java_does(seconds: float | None, text: str | None) -> None:
    assert retained_text(tag(None, seconds)) == text
