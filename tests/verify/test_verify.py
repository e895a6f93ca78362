"""`verify` names every file that is missing or wrong, with who needs it, and every file that nobody needs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.context import Context
from paimark.core.storage.files import DirectoryEntry
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import Problem, VerifyReport, report, verify
from paimark.core.verify.needed_files import needs_of
from paimark.core.verify.needed_paths import locate
from paimark.core.verify.versions import StoredVersion, versions
from tests.actions.acting import EVENTS, ORDERS, NoWrites, context_on, done
from tests.actions.garbage.test_counting_cost import with_a_large_manifest
from tests.actions.garbage.test_unreferenced import random_history
from tests.actions.histories import TABLE, History, needed_by_all, reached
from tests.actions.taking_over import branched
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.long import unhurried
from tests.paimon import commit, read_rows
from tests.storage.wrapped import Wrapped
from tests.wording import about

DAY = 24 * 3600 * 1000


def problem(report: VerifyReport) -> Problem:
    [only] = report.problems
    assert report.problem_count == 1 and not report.is_whole
    return only


def later(context: Context, days: int = 2) -> Context:
    """A context whose clock is ahead: files that are there are that old."""
    return replace(context, clock=lambda: context.clock() + days * DAY)


@pytest.mark.parametrize("table", [ORDERS, EVENTS])
def test_a_table_of_another_engine_is_whole(context: Context, table: TablePath) -> None:
    report = verify(context, table)
    assert report.is_whole and report.tells_orphans
    assert report.orphans == report.young == report.leftovers == ()
    assert report.files > 7 and report.bytes > 1000


def test_every_layout_of_ours_is_whole(context: Context) -> None:
    done(context, "create-savepoint", snapshot=3)
    branched(context, tag="savepoint.1")
    done(context, "create-tag", name="mine", branch="fix")
    assert verify(context, ORDERS).is_whole
    done(context, "replace-main-branch", name="fix")
    report = verify(later(context), ORDERS)
    assert report.is_whole and report.orphans == ()
    done(context, "undo")
    done(context, "expire-snapshots", retain_last=1)
    report = verify(later(context), ORDERS)
    assert report.is_whole and report.orphans == () and report.leftovers == ()


def test_a_savepoint_is_read_by_the_schemas_of_the_root_that_holds_its_tag(
    context: Context, warehouse: Path
) -> None:
    """It was made in main, which is kept as a branch now, and the branch that is main lacks its schema."""
    branched(context)
    done(context, "alter-branch-schema", add="note STRING")
    row = {"order_id": [1], "customer": ["c"], "price": [1.0], "note": ["n"]}
    commit(
        warehouse, "shop.orders", pa.table(row, schema=ORDERS_SCHEMA.append(pa.field("note", pa.string())))
    )
    done(context, "create-savepoint")
    done(context, "replace-main-branch", name="fix")
    assert verify(context, ORDERS).is_whole


def test_a_missing_data_file_is_told_with_all_who_need_it(context: Context, orders: Path) -> None:
    branched(context)
    first = Lineage(context.files, ORDERS.root()).snapshot(1)
    [path, *_] = sorted(orders.glob("bucket-0/data-*"), key=lambda each: each.stat().st_mtime_ns)
    path.unlink()
    missing = problem(verify(context, ORDERS))
    assert (missing.cause, missing.path) == ("missing", f"shop.db/orders/bucket-0/{path.name}")
    # Five snapshots and a tag of main, two snapshots and a tag of the branch.
    assert missing.needed_by[0] == "snapshot 1 of main" and missing.needed_by_count == 9
    assert first.id == 1


def test_a_missing_manifest_list_is_told_and_orphans_are_not_to_be_trusted(
    context: Context, orders: Path
) -> None:
    newest = Lineage(context.files, ORDERS.root()).snapshot(5)
    (orders / "manifest" / newest.delta_manifest_list).unlink()
    report = verify(later(context), ORDERS)
    missing = problem(report)
    assert missing.path == f"shop.db/orders/manifest/{newest.delta_manifest_list}"
    assert missing.needed_by == ("snapshot 5 of main",)
    assert not report.tells_orphans
    # What only that list names seems to be nobody's.
    assert report.orphan_count > 0


def test_a_list_that_is_cut_off_is_damaged_and_too_short(context: Context, orders: Path) -> None:
    newest = Lineage(context.files, ORDERS.root()).snapshot(5)
    path = orders / "manifest" / newest.base_manifest_list
    path.write_bytes(path.read_bytes()[:-20])
    report = verify(context, ORDERS)
    assert [each.cause for each in report.problems] == ["damaged", "size"]
    assert {each.path for each in report.problems} == {f"shop.db/orders/manifest/{path.name}"}
    assert {each.needed_by for each in report.problems} == {("snapshot 5 of main",)}


def test_a_manifest_that_is_no_manifest_is_damaged(context: Context, orders: Path) -> None:
    manifest = min(each for each in (orders / "manifest").glob("manifest-*-*") if "list" not in each.name)
    manifest.write_bytes(b"Obj\x01" + b"x" * (manifest.stat().st_size - 4))
    damaged = problem(verify(context, ORDERS))
    assert damaged.cause == "damaged" and "can't be read" in damaged.detail and damaged.needed_by_count > 0


def test_a_file_of_another_size_is_told(context: Context, orders: Path) -> None:
    path = min(orders.glob("bucket-1/data-*"))
    size = path.stat().st_size
    path.write_bytes(b"")
    wrong_size = problem(verify(context, ORDERS))
    assert wrong_size.cause == "size" and about("0 bytes", size).search(wrong_size.detail)


def test_the_schemas_that_files_were_written_by_are_needed(context: Context, orders: Path) -> None:
    done(context, "alter-branch-schema", add="note STRING")
    with_note = ORDERS_SCHEMA.append(pa.field("note", pa.string()))
    row = {"order_id": [70], "customer": ["x"], "price": [1.0], "note": ["n"]}
    commit(context.files.uri, "shop.orders", pa.table(row, schema=with_note))
    assert verify(context, ORDERS).is_whole
    (orders / "schema/schema-0").unlink()
    missing = problem(verify(context, ORDERS))
    assert missing.path == "shop.db/orders/schema/schema-0"
    assert about("main", "files", "schema 0", "lacks").search(missing.detail)
    assert missing.needed_by_count == 6


def test_a_savepoints_own_list_is_needed_by_it(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    [path] = (orders / "savepoint").glob("manifest-list-*")
    path.unlink()
    missing = problem(verify(context, ORDERS))
    assert (missing.cause, missing.needed_by) == ("missing", ("savepoint 1",))


def test_a_savepoint_that_lost_its_tag_still_needs_its_files(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=1)
    (orders / "tag/tag-savepoint.1").unlink()
    for number in (1, 2, 3, 4):
        (orders / f"snapshot/snapshot-{number}").unlink()
    (orders / "tag/tag-v2").unlink()
    report = verify(later(context), ORDERS)
    assert report.is_whole
    path = min(orders.glob("bucket-0/data-*"), key=lambda each: each.stat().st_mtime_ns)
    path.unlink()
    assert "savepoint 1" in problem(verify(context, ORDERS)).needed_by


def test_half_written_versions_are_damaged(context: Context, orders: Path) -> None:
    (orders / "tag/tag-v2").write_bytes(b'{"id": 2')
    report = verify(context, ORDERS)
    assert [(each.cause, each.path) for each in report.problems] == [("damaged", "shop.db/orders/tag/tag-v2")]
    assert not report.tells_orphans


def test_a_snapshot_under_another_number_is_damaged(context: Context, orders: Path) -> None:
    (orders / "snapshot/snapshot-4").write_bytes((orders / "snapshot/snapshot-3").read_bytes())
    damaged = problem(verify(context, ORDERS))
    assert damaged.path == "shop.db/orders/snapshot/snapshot-4" and "its id is 3" in damaged.detail


def test_orphans_are_told_by_age_and_by_who_may_own_them(context: Context, orders: Path) -> None:
    for name in (
        "bucket-0/data-lost-0.parquet",
        "manifest/manifest-lost-0",
        "notes.txt",
        "savepoint/manifest-list-x",
    ):
        path = orders / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12345")
    old = orders / "manifest/manifest-lost-0"
    os.utime(old, (old.stat().st_mtime - 3 * 86400,) * 2)
    report = verify(context, ORDERS)
    assert report.is_whole
    [orphan] = report.orphans
    assert (orphan.path, orphan.size) == ("shop.db/orders/manifest/manifest-lost-0", 5)
    assert about("commit", "failed", "being made").search(orphan.owner)
    assert orphan.age is not None and orphan.age > 2 * DAY
    assert (report.orphan_count, report.orphan_bytes) == (1, 5)
    owners = {each.path.removeprefix("shop.db/orders/"): each.owner for each in report.young}
    assert owners.keys() == {"bucket-0/data-lost-0.parquet", "notes.txt", "savepoint/manifest-list-x"}
    assert about("writer", "died").search(owners["bucket-0/data-lost-0.parquet"])
    assert about("another program").search(owners["notes.txt"])
    assert about("savepoint", "not finished").search(owners["savepoint/manifest-list-x"])
    assert len(verify(later(context), ORDERS).orphans) == 4
    assert len(verify(context, ORDERS, older_than=0).orphans) == 4


def test_an_expiry_that_spared_a_tag_which_has_gone_since_leaves_orphans(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """A statement ends, and its tag goes, while a stock expiry is under way that has read the tags before.

    Whoever deletes what is named loses nothing.
    """
    files, main = context.files, ORDERS.root()
    rows = {"order_id": [900], "customer": ["only"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=True)
    lineage = Lineage(files, main)
    past = {number: reached(files, main, lineage.snapshot(number), changelog=False) for number in range(1, 6)}
    needed = reached(files, main, lineage.snapshot(6), changelog=False)
    spared = past[2] - needed
    files.delete(main.tag("v2"))
    for path in {*set[str]().union(*past.values()), *map(main.snapshot, past)} - past[2] - needed:
        files.delete(path)

    report = verify(context, ORDERS, older_than=0)

    assert report.is_whole and len(spared) > 4
    assert {each.path for each in report.orphans} == spared
    assert {each.path for each in verify(later(context), ORDERS).orphans} == spared
    for each in report.orphans:
        files.delete(each.path)
    assert verify(context, ORDERS, older_than=0).orphans == () and verify(context, ORDERS).is_whole
    assert read_rows(warehouse, "shop.orders") == [{"order_id": 900, "customer": "only", "price": 1.0}]


def test_what_is_left_of_unfinished_changes_is_told_apart(context: Context, orders: Path) -> None:
    uuid = "5ec5d4cd-5a37-4a4b-9f5c-0b3c8f5bb8a1"
    names = (
        "branch/ACTION",
        f"branch/.ACTION.{uuid}",
        f"branch/STEP-{32 * 'a'}-1",
        "savepoint/CLAIM-7",
        f"snapshot/.LATEST.{uuid}",
        f"manifest/.manifest-1.{uuid}",
        f"tag/.tag-x.{uuid}",
    )
    for name in names:
        (orders / name).parent.mkdir(exist_ok=True)
        (orders / name).write_bytes(b"{")
    report = verify(later(context), ORDERS)
    assert report.is_whole and report.orphans == ()
    owners = {each.path.removeprefix("shop.db/orders/"): each.owner for each in report.leftovers}
    assert set(owners) == set(names)
    assert about("change", "runs", "interrupted", "`paimark recover shop.orders`").search(
        owners["branch/ACTION"]
    )
    assert about("savepoint", "being made").search(owners["savepoint/CLAIM-7"])
    assert "LATEST" in owners[f"snapshot/.LATEST.{uuid}"]


class Expiring(Wrapped):
    """A store on which a snapshot, and the files only it has, expire while somebody looks for files."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.files)
        self._context = context
        self._is_due = True

    def entries(self, directory: str) -> list[DirectoryEntry]:
        if self._is_due and directory.endswith("/manifest"):
            self._is_due = False
            done(self._context, "expire-snapshots", retain_last=2)
        return super().entries(directory)


def test_what_expires_meanwhile_is_not_missing(context: Context, warehouse: Path) -> None:
    report = verify(context_on(warehouse, Expiring(context)), ORDERS)
    assert Lineage(context.files, ORDERS.root()).snapshot_ids() == [4, 5]
    assert report.problems == ()


def test_it_writes_nothing(context: Context, warehouse: Path) -> None:
    branched(context)
    assert verify(context_on(warehouse, NoWrites(context.files)), ORDERS, read_data=1.0).is_whole


def test_the_own_snapshot_of_a_branch_needs_its_changelog_though_it_is_tagged(tmp_path: Path) -> None:
    history = History(tmp_path, Random(0))
    history.commit()
    history.tag("t", 1)
    history.fork("b", "t")
    branch = Lineage(history.files, TABLE.root("b"))
    own = branch.snapshot(history.commit("b"))
    while own.changelog_manifest_list is None:
        own = branch.snapshot(history.commit("b"))
    history.tag("own", own.id, "b")
    needed = reached(history.files, branch.root, own, changelog=True)
    gone = sorted(each for each in needed if "/changelog-" in each)
    for path in gone:
        history.files.delete(path)
    report = verify(context_on(tmp_path), TABLE)
    assert [each.path for each in report.problems] == gone


def test_what_a_truncation_cut_off_begins_with_a_state_that_only_a_tag_keeps(tmp_path: Path) -> None:
    history = History(tmp_path, Random(0))
    main = Lineage(history.files, TABLE.root())
    cut = main.snapshot(history.commit())
    while cut.changelog_manifest_list is None:
        cut = main.snapshot(history.commit())
    history.tag("t", cut.id)
    history.commit()
    done(context_on(tmp_path), "rollback", table=TABLE, to="t", truncate=True)
    history.commit()
    kept = reached(history.files, TABLE.root(), cut, changelog=False)
    # As stock expiry does, for which a tag keeps no changelog.
    for path in reached(history.files, TABLE.root(), cut, changelog=True) - kept:
        history.files.delete(path)
    for number in main.snapshot_ids()[:-1]:
        history.files.delete(TABLE.root().snapshot(number))
    assert verify(context_on(tmp_path), TABLE).problems == ()


def missed(history: History, needed: set[str]) -> set[str]:
    """Whose loss is told by its own name; a branch may begin with a snapshot whose changelog is gone."""
    main = Lineage(history.files, TABLE.root())
    of_main = set[str]().union(
        *(reached(history.files, TABLE.root(), each, changelog=True) for each in main.snapshots())
    )
    sure = {each for each in needed if "changelog" not in each} | of_main
    return {each for each in sure if "manifest" not in each}


@unhurried(60)
@given(st.randoms(use_true_random=False))
def test_it_tells_what_counting_everything_over_everything_tells(random: Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        history = random_history(Path(directory), random)
        context = context_on(Path(directory))
        needed = needed_by_all(history.files, TABLE)
        kept = ("/snapshot/", "/schema/", "/tag/", "/branch/")
        there = {
            str(path.relative_to(directory))
            for path in Path(directory, TABLE.directory).rglob("*")
            if path.is_file() and not any(part in str(path) for part in kept)
        }
        report = verify(context, TABLE, older_than=0)
        assert report.problems == ()
        assert {each.path for each in report.orphans} == there - needed
        gone = [path for path in sorted(missed(history, needed) & there) if random.random() < 0.1]
        for path in gone:
            history.files.delete(path)
        changed = verify(context, TABLE, older_than=0)
        assert sorted(each.path for each in changed.problems) == gone
        assert all(each.needed_by for each in changed.problems)


class CountedVersions(list[StoredVersion]):
    """Versions, and how many of them were asked for."""

    asked = 0

    def __iter__(self) -> Iterator[StoredVersion]:
        for each in super().__iter__():
            CountedVersions.asked += 1
            yield each


def test_of_many_files_that_many_versions_lack_few_versions_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_LISTED", 10)
    history = with_a_large_manifest(tmp_path, 1000)
    for number in range(30):
        history.files.create(TABLE.root().tag(f"t{number}"), history.files.read(TABLE.root().tag("kept")))
    needs = needs_of(history.files, TABLE, versions(history.files, TABLE), lambda line: None)
    for state in needs.states:
        state.versions = CountedVersions(state.versions)
    located = locate(history.files, needs, lambda name: False)
    collected = report.Problems(history.files, needs)
    CountedVersions.asked = 0
    for directory, needed in located.files.items():
        if directory.endswith("bucket-0"):
            collected.add_missing(directory, needed)
    assert collected.count >= 1000
    assert (len(collected.listed), collected.listed[0].needed_by_count) == (10, 31)
    # One that is there for each file.
    assert CountedVersions.asked < collected.count + 20 * 31
