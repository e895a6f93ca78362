"""LATEST and EARLIEST may say anything."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from tests.table.lineages import TABLE, CountingFiles, write_lineage

ids = st.sets(st.integers(1, 60), min_size=1, max_size=30)
hints = st.one_of(
    st.none(),
    st.integers(-5, 70).map(lambda number: str(number).encode()),
    st.sampled_from(
        [b"", b"\n", b" 7\n", b"007", b"1e3", b"+3", b"\xff\xfe", "٣".encode(), b"9" * 400, b"1_0"]
    ),
    st.binary(max_size=8),
)


def write(warehouse: Path, snapshot_ids: set[int], latest: bytes | None, earliest: bytes | None) -> Lineage:
    lineage = write_lineage(warehouse, {each: each * 100 for each in snapshot_ids})
    for path, hint in ((lineage.root.latest_hint, latest), (lineage.root.earliest_hint, earliest)):
        if hint is not None:
            (warehouse / path).write_bytes(hint)
    return lineage


@given(first=st.integers(1, 20), length=st.integers(1, 40), latest=hints, earliest=hints)
def test_no_hint_hides_the_ends_of_an_unbroken_lineage(
    first: int, length: int, latest: bytes | None, earliest: bytes | None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write(Path(directory), set(range(first, first + length)), latest, earliest)
        assert lineage.latest_id() == first + length - 1
        assert lineage.earliest_id() == first


@given(snapshot_ids=ids, latest=hints, earliest=hints)
def test_with_holes_the_ends_exist_and_nothing_follows_them(
    snapshot_ids: set[int], latest: bytes | None, earliest: bytes | None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write(Path(directory), snapshot_ids, latest, earliest)
        newest, oldest = lineage.latest_id(), lineage.earliest_id()
        assert newest in snapshot_ids
        assert oldest in snapshot_ids
        assert newest + 1 not in snapshot_ids
        assert oldest - 1 not in snapshot_ids


@given(snapshot_ids=ids)
def test_without_hints_the_ends_are_exact_whatever_the_holes(snapshot_ids: set[int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write(Path(directory), snapshot_ids, None, None)
        assert (lineage.earliest_id(), lineage.latest_id()) == (min(snapshot_ids), max(snapshot_ids))


@given(snapshot_ids=ids, count=st.integers(0, 40), before=st.one_of(st.none(), st.integers(0, 70)))
def test_the_newest_page_is_the_head_of_all_rows_whatever_the_holes(
    snapshot_ids: set[int], count: int, before: int | None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write(Path(directory), snapshot_ids, str(max(snapshot_ids)).encode(), None)
        expected = [row for row in lineage.rows() if before is None or row.snapshot_id < before][:count]
        assert lineage.newest(count, before) == expected


def test_a_wide_hole_costs_one_listing_and_not_a_read_for_each_id(tmp_path: Path) -> None:
    write_lineage(tmp_path, {**{number: number for number in range(1, 30)}, 1_000_000: 1_000_000})
    counting = CountingFiles(LocalFiles(str(tmp_path)))
    page = Lineage(counting, TABLE.root()).newest(20, before=1_000_001)
    assert [row.snapshot_id for row in page] == [1_000_000, *range(29, 10, -1)]
    assert len(counting.listings) == 1
    assert len(counting.reads) < 150


@pytest.mark.parametrize("behind", [1, 5, 15])
def test_a_hint_a_few_commits_behind_costs_no_listing(tmp_path: Path, behind: int) -> None:
    write(tmp_path, set(range(1, 101)), str(100 - behind).encode(), None)
    counting = CountingFiles(LocalFiles(str(tmp_path)))
    assert Lineage(counting, TABLE.root()).latest_id() == 100
    assert counting.listings == []


def test_a_hint_far_behind_costs_one_listing(tmp_path: Path) -> None:
    write(tmp_path, set(range(1, 101)), b"3", None)
    counting = CountingFiles(LocalFiles(str(tmp_path)))
    assert Lineage(counting, TABLE.root()).latest_id() == 100
    assert len(counting.listings) == 1


def test_a_hint_that_is_a_directory_is_none(tmp_path: Path) -> None:
    lineage = write(tmp_path, {1, 2, 3}, None, None)
    (tmp_path / lineage.root.latest_hint).mkdir()
    assert lineage.latest_id() == 3


def test_hints_of_a_table_that_lost_its_snapshots_are_not_believed(tmp_path: Path) -> None:
    lineage = write(tmp_path, {1, 2, 3}, b"3", b"1")
    for path in (tmp_path / lineage.root.snapshots).glob("snapshot-*"):
        path.unlink()
    assert lineage.latest_id() is None
    assert lineage.earliest_id() is None
    shutil.rmtree(tmp_path / lineage.root.snapshots)
    assert lineage.latest_id() is None
