"""Drops, undrops and renames on object stores, which copy each file. The simulation kills them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.change.journal import TakenOver
from paimark.core.cli.checks.doctor import _root
from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.late_requests import LateRequests
from paimark.core.storage.open import open_files
from paimark.core.storage.s3 import s3_files
from paimark.core.table.catalog import find_table, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import read_operations
from paimark.core.table.trash import dropped_tables
from tests.actions.acting import ORDERS, Meanwhile, context_on, done, item, planned, refused
from tests.actions.replace.test_misdirected import StandsStill, recovered
from tests.faults.fault_files import Death, DiesAfter
from tests.storage.stores import BUCKET, S3Server
from tests.wording import about

RENAMED = TablePath("shop", "renamed")
COPIED, COMMIT = "-2", f"{RENAMED.root().schemas}/schema-0"
NEXT = ORDERS.root().snapshot(6)


def filled(orders: Path, files: Files) -> Files:
    """The table `shop.orders`, with a branch and a savepoint, on a store."""
    context = context_on(orders.parent.parent)
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-savepoint", snapshot=4)
    there = [path for path in orders.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: files.replace(_name(orders, path), path.read_bytes()), there))
    return files


@pytest.fixture
def store(orders: Path) -> Files:
    """A store of objects in memory: a server takes seconds for each test."""
    return filled(orders, open_files(f"memory://{uuid.uuid4().hex}"))


def _name(orders: Path, path: Path) -> str:
    return f"{ORDERS.directory}/{path.relative_to(orders)}"


def below(files: Files, table: TablePath) -> dict[str, bytes]:
    """All files of a table but its log, by their names in it."""
    found = {}

    def read(directory: str) -> None:
        for each in files.entries(directory):
            path = f"{directory}/{each.name}"
            if not each.is_directory:
                found[path.removeprefix(f"{table.directory}/")] = files.read(path)
            elif each.name != "operations":
                read(path)

    read(table.directory)
    return found


@pytest.mark.parametrize("kind", ["memory", pytest.param("s3", marks=pytest.mark.long)])
def test_a_table_goes_to_the_trash_and_comes_back(
    orders: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    if kind == "memory":
        files = open_files(f"memory://{uuid.uuid4().hex}")
    else:
        files = open_files(f"s3://{BUCKET}/{uuid.uuid4().hex}", request.getfixturevalue("s3").options())
    store = filled(orders, files)
    context, before = context_on(tmp_path, store), below(store, ORDERS)
    plan = planned(context, "drop-table")
    assert about("files", "copied", "store", "1 s").search(plan.cost)
    assert about("jobs", "stopped").search(item(plan, "jobs-stop-copy").text)
    outcome = done(context, "drop-table")
    assert not store.entries(ORDERS.directory) and tables(store, "shop") == []
    with pytest.raises(NotFound) as gone:
        find_table(store, "shop.orders")
    assert about("`paimark undrop shop.orders`", "trash").search(gone.value.hint)
    [dropped] = dropped_tables(store, "shop")
    assert outcome.result == {"dropped_id": dropped.id} and below(store, dropped.place) == before
    done(context, "undrop")
    assert below(store, ORDERS) == before and not store.entries(dropped.place.directory)
    log = [each.action for each in read_operations(store, ORDERS)]
    assert log[-2:] == ["drop-table", "undrop"]
    done(context, "rename-table", to=RENAMED.name)
    assert below(store, RENAMED) == before and not store.entries(ORDERS.directory)
    done(context, "create-tag", RENAMED, name="after")


def test_a_large_file_is_copied_in_parts(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_files(f"s3://{BUCKET}/{uuid.uuid4().hex}", s3.options())
    store.replace("small", b"whole")
    store.copy("small", "other", 5)
    assert store.read("other") == b"whole"
    monkeypatch.setattr(s3_files, "_COPIED_WHOLE", 5 << 20)
    store.replace("large", data := bytes(range(256)) * (24 << 10))
    store.copy("large", "copy", len(data))
    assert store.read("copy") == data


@pytest.mark.long
def test_parts_of_a_copy_that_was_cut_off_are_given_up(s3: S3Server, orders: Path, tmp_path: Path) -> None:
    """Those of files that the table has, but not what somebody else uploads there."""
    place = uuid.uuid4().hex
    store = filled(orders, open_files(f"s3://{BUCKET}/{place}", s3.options()))
    assert isinstance(store, s3_files.S3Files)
    own = next(each for each in below(store, ORDERS) if each.startswith("bucket-"))

    def begin(path: str) -> None:
        key = f"{place}/{RENAMED.directory}/{path}"
        store._call("call_s3", "create_multipart_upload", Bucket=BUCKET, Key=key)

    def begun() -> list[str]:
        found = store._call("call_s3", "list_multipart_uploads", Bucket=BUCKET, Prefix=place)
        return [each["Key"].rpartition("/")[2] for each in found.get("Uploads", ())]

    with pytest.raises(Death):
        done(context_on(tmp_path, DiesAfter(store, COMMIT)), "rename-table", to=RENAMED.name)
    for each in (own, "bucket-0/data-of-somebody.orc"):
        begin(each)
    assert len(begun()) == 2
    done(context_on(tmp_path, store), "recover")
    assert begun() == ["data-of-somebody.orc"]
    assert store.exists(f"{RENAMED.directory}/{own}") and not store.entries(ORDERS.directory)


def test_what_comes_late_under_the_old_name_is_told(store: Files, tmp_path: Path) -> None:
    context = context_on(tmp_path, store)
    path = ORDERS.root().snapshot(5)
    late = store.read(path)
    done(context, "drop-table")
    store.replace(path, b"{}")
    with pytest.raises(NotFound, match=about("no table shop.orders", path, "job", "request")):
        find_table(store, "shop.orders")
    assert about(path, "job").search(planned(context, "undrop").refusals[0].reason)
    # The table has the very file: nothing can be lost.
    store.replace(path, late)
    done(context, "undrop")
    assert store.read(path) == late


def test_a_deletion_for_good_takes_the_schema_first(store: Files, tmp_path: Path) -> None:
    context = context_on(tmp_path, store)
    done(context, "drop-table")
    with pytest.raises(Death):
        done(context_on(tmp_path, DiesAfter(store, "/schema-0", writes="delete")), "delete-dropped")
    assert dropped_tables(store, "shop") == []
    with pytest.raises(NotFound):
        planned(context, "undrop")
    done(context, "delete-dropped")
    assert not store.entries("shop.db")


def commit(files: Files, path: str) -> Callable[[], object]:
    """What a job does meanwhile."""
    return lambda: files.replace(path, files.read(ORDERS.root().snapshot(5)))


def test_a_commit_during_the_copy_takes_it_back(store: Files, tmp_path: Path) -> None:
    before = below(store, ORDERS)
    busy = context_on(tmp_path, Meanwhile(store, COPIED, commit(store, NEXT)))
    with pytest.raises(Refused, match=about("somebody", ORDERS.directory, "copied")):
        done(busy, "rename-table", to=RENAMED.name)
    assert not store.entries(RENAMED.directory)
    store.delete(NEXT)
    assert below(store, ORDERS) == before


def test_who_was_taken_back_makes_no_table(store: Files, tmp_path: Path) -> None:
    """A process stands still right before the new table's schema, and is taken for dead meanwhile."""
    before = below(store, ORDERS)
    context = context_on(tmp_path, store)
    late = StandsStill(store, lambda path, data: path == COMMIT, lambda: recovered(context))
    with pytest.raises(TakenOver):
        done(context_on(tmp_path, late), "rename-table", to=RENAMED.name)
    assert not store.entries(RENAMED.directory)
    assert below(store, ORDERS) == before


def test_a_commit_after_the_comparison_comes_along(store: Files, tmp_path: Path) -> None:
    busy = context_on(tmp_path, Meanwhile(store, COMMIT, commit(store, NEXT)))
    done(busy, "rename-table", to=RENAMED.name)
    assert store.exists(RENAMED.root().snapshot(6)) and not store.entries(ORDERS.directory)


def test_a_commit_stays_where_both_places_went_on(store: Files, tmp_path: Path) -> None:
    def both() -> None:
        commit(store, NEXT)()
        store.replace(f"{RENAMED.root().snapshots}/snapshot-6", b"{}")

    done(context_on(tmp_path, Meanwhile(store, COMMIT, both)), "rename-table", to=RENAMED.name)
    assert store.read(f"{RENAMED.root().snapshots}/snapshot-6") == b"{}"
    assert list(below(store, ORDERS)) == ["snapshot/snapshot-6"]


def test_doctor_takes_no_table_that_is_being_moved_for_broken(store: Files, tmp_path: Path) -> None:
    with pytest.raises(Death):
        done(context_on(tmp_path, DiesAfter(store, "b/schema/schema-0", writes="delete")), "drop-table")
    context = replace(context_on(tmp_path, store), late=LateRequests(60))
    for root in (ORDERS.root(), ORDERS.root("b")):
        assert [each.state for each in _root(context, root)] == ["ok"]
    assert any("locked for changes; `paimark" in each.text for each in planned(context, "recover").items)


def test_a_move_that_died_is_recovered_by_its_old_name(store: Files, tmp_path: Path) -> None:
    before, context = below(store, ORDERS), context_on(tmp_path, store)
    with pytest.raises(Death):
        done(context_on(tmp_path, DiesAfter(store, COMMIT)), "rename-table", to=RENAMED.name)
    for name in ("create-tag", "delete-branch"):
        assert "rename-table by" in refused(planned(context, name, RENAMED, name="b"))[0]
    [reason] = refused(planned(context, "recover", RENAMED))
    assert about("rename-table", "shop.orders", "shop.renamed").search(reason)
    done(context, "recover")
    assert below(store, RENAMED) == before and not store.entries(ORDERS.directory)
