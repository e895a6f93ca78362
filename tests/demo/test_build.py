"""The demo warehouse."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import paimark
from paimark.core.demo.build import DAYS, FAULTY, MONTH_END, SAVED, build_demo
from paimark.core.demo.directory import MARKER
from paimark.core.errors import Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import each_needed_file
from paimark.core.table.savepoints import SavepointManager
from paimark.core.travel.version import resolve_time
from tests.paimon import read_rows
from tests.wording import about

NOW = int(datetime(2026, 5, 20, 15, 40, tzinfo=UTC).timestamp() * 1000)
DAY_MS = 86_400_000
ORDERS = TablePath("shop", "orders")


def built(path: Path, now_ms: int = NOW) -> LocalFiles:
    build_demo(path, lambda line: None, now_ms)
    return LocalFiles(str(path))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read only."""
    path = tmp_path_factory.mktemp("demo") / "warehouse"
    built(path)
    return path


def by_key(rows: list[dict[str, Any]], key: str) -> dict[Any, dict[str, Any]]:
    return {row[key]: row for row in rows}


def content(path: Path) -> dict[str, list[Any]]:
    tables = ("shop.orders", "shop.orders$branch_fix_prices", "shop.customers", "shop.events")
    return {name: sorted(map(repr, read_rows(path, name))) for name in tables}


def commit_times(files: LocalFiles, table: str, branch: str | None = None) -> list[int]:
    rows = Lineage(files, TablePath("shop", table).root(branch)).rows()
    return [row.commit_time for row in reversed(rows)]


@pytest.mark.long
def test_two_builds_of_one_day_hold_the_same_rows_and_times(demo: Path, tmp_path: Path) -> None:
    again = built(tmp_path / "again", NOW + 60_000)
    assert content(tmp_path / "again") == content(demo)
    for table in ("orders", "customers", "events"):
        assert commit_times(again, table) == commit_times(LocalFiles(str(demo)), table)


def test_commits_spread_over_the_last_two_weeks_in_the_order_of_their_ids(demo: Path) -> None:
    files = LocalFiles(str(demo))
    for table, branch in (("orders", None), ("orders", "fix_prices"), ("customers", None), ("events", None)):
        times = commit_times(files, table, branch)
        assert times == sorted(set(times))
        assert times[0] >= NOW - 14 * DAY_MS
        assert NOW - 3 * DAY_MS < times[-1] <= NOW
    assert len(commit_times(files, "orders")) >= 12
    latest = Lineage(files, ORDERS.root()).latest()
    assert latest is not None
    assert latest.time_millis > NOW - DAY_MS


def test_the_faulty_load_is_on_main_and_right_on_the_branch(demo: Path) -> None:
    main = by_key(read_rows(demo, "shop.orders"), "order_id")
    branch = by_key(read_rows(demo, "shop.orders$branch_fix_prices"), "order_id")
    wrong = {key for key, row in main.items() if row["price"] < 0}
    assert len(wrong) > 300
    assert main.keys() == branch.keys()
    assert all(row["price"] > 0 for row in branch.values())
    for key, row in main.items():
        assert branch[key] == {**row, "price": abs(row["price"])}
        assert isinstance(row["price"], Decimal)


def test_the_tag_that_the_branch_was_made_from_is_older_than_the_fault(demo: Path) -> None:
    files = LocalFiles(str(demo))
    main, branch = Lineage(files, ORDERS.root()), Lineage(files, ORDERS.root("fix_prices"))
    assert main.tag("month-end").id == MONTH_END == FAULTY - 1
    assert branch.earliest_id() == MONTH_END
    shared = f"snapshot/snapshot-{MONTH_END}"
    assert files.read(f"{ORDERS.directory}/{shared}") == files.read(f"{branch.root.directory}/{shared}")


def test_savepoint_1_keeps_every_file_of_a_snapshot_that_expired(demo: Path) -> None:
    files = LocalFiles(str(demo))
    savepoint = SavepointManager(files, ORDERS).savepoint(1)
    lineage = Lineage(files, ORDERS.root())
    assert savepoint.saved_snapshot_id == SAVED < (lineage.earliest_id() or 0)
    assert savepoint.snapshot_time < savepoint.save_time < NOW
    for name in ("savepoint.1", "v1-launch"):
        kept = [each for each in each_needed_file(files, lineage.root, lineage.tag(name)) if each.size]
        assert {"data", "manifest"} <= {each.kind for each in kept}
        assert all(files.size(each.path) == each.size for each in kept)


def test_the_log_is_in_the_order_of_its_times(demo: Path) -> None:
    done = paimark.open(str(demo)).table("shop.orders").operations()
    assert [each.action for each in done][-2:] == ["expire-snapshots", "create-branch"]
    times = [each.time for each in done]
    assert times == sorted(times)


def test_a_moment_of_the_expired_past_is_answered_by_the_closest_savepoint(demo: Path) -> None:
    files, root = LocalFiles(str(demo)), ORDERS.root()
    first = Lineage(files, root).snapshot(SAVED + 1)
    assert Lineage(files, root).earliest_id() == first.id
    found = resolve_time(files, root, first.time_millis - 1)
    assert (found.name, found.snapshot.id) == ("savepoint.1", SAVED)
    assert about("savepoint.1", f"snapshot {SAVED}", "older").search(found.note)


def test_no_manifest_list_is_left_that_nothing_needs(demo: Path) -> None:
    files = LocalFiles(str(demo))
    needed = set()
    for root in (ORDERS.root(), ORDERS.root("fix_prices")):
        lineage = Lineage(files, root)
        for snapshot in [*lineage.snapshots(), *(tag for _, tag in lineage.tags())]:
            needed |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
    lists = {name for name in files.names(ORDERS.manifests) if name.startswith("manifest-list-")}
    assert lists == needed


def test_events_have_a_partition_a_day_and_customers_two_schemas(demo: Path) -> None:
    files = LocalFiles(str(demo))
    days = {row["day"] for row in read_rows(demo, "shop.events")}
    assert len(days) == DAYS
    assert max(days) == "2026-05-19"
    customers = Lineage(files, TablePath("shop", "customers").root())
    assert [len(schema.fields) for schema in customers.schemas()] == [3, 4]
    assert {row["tier"] for row in read_rows(demo, "shop.customers")} == {None, "basic", "silver", "gold"}


def test_what_is_there_is_never_built_over(demo: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo, tmp_path / "demo"))
    stray = path / "shop.db" / "orders" / "snapshot" / "snapshot-99"
    stray.write_text("{}")
    with pytest.raises(Refused, match=r"shop\.customers is there already"):
        built(path)
    assert stray.exists()


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "shop.db"])
def test_a_directory_with_anything_else_in_it_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(Refused, match="not empty"):
        built(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(Refused, match="is a file"):
        built(tmp_path / "demo")


def test_a_database_that_is_a_link_elsewhere_is_never_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("mine")
    demo = tmp_path / "demo"
    demo.mkdir()
    (demo / MARKER).write_text("{}")
    (demo / "shop.db").symlink_to(elsewhere)
    with pytest.raises(Refused, match=about("shop.db", "link")):
        built(demo)
    assert [path.name for path in elsewhere.iterdir()] == ["precious"]
    assert sorted(path.name for path in demo.iterdir()) == [MARKER, "shop.db"]
