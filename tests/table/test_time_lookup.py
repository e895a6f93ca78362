"""The newest snapshot at or before a time, in as few reads as bisecting takes."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Corrupt
from core.storage.local import LocalFiles
from core.table.lineage import Lineage
from tests.table.lineages import TABLE, CountingFiles, write_lineage


@st.composite
def lineages(draw: st.DrawFn) -> dict[int, int]:
    """Ids with holes, and times that never fall; several snapshots may share a millisecond."""
    ids = sorted(draw(st.sets(st.integers(1, 500), max_size=40)))
    times = sorted(draw(st.lists(st.integers(0, 50), min_size=len(ids), max_size=len(ids))))
    return dict(zip(ids, times, strict=True))


def newest_at_or_before(times: dict[int, int], time_ms: int) -> int | None:
    return max((each for each, committed in times.items() if committed <= time_ms), default=None)


@given(times=lineages(), time_ms=st.integers(-1, 51))
def test_the_answer_is_that_of_looking_at_every_snapshot(times: dict[int, int], time_ms: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write_lineage(Path(directory), times)
        found = lineage.at_or_before(time_ms)
        assert (found.id if found else None) == newest_at_or_before(times, time_ms)


@given(times=lineages(), time_ms=st.integers(-1, 51))
def test_the_answer_costs_one_listing_and_few_reads(times: dict[int, int], time_ms: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        write_lineage(Path(directory), times)
        counting = CountingFiles(LocalFiles(directory))
        Lineage(counting, TABLE.root()).at_or_before(time_ms)
        assert counting.listings[:1] == [TABLE.root().snapshots]
        if times:
            assert len(counting.listings) == 1
            assert len(counting.reads) <= math.log2(len(times)) + 2


def test_ten_thousand_ids_with_the_worst_holes_cost_what_bisecting_costs(tmp_path: Path) -> None:
    # What a walk from id to id suffers most from: the snapshots sit at both ends of a wide hole.
    times = {each: each * 10 for each in [*range(1, 101), *range(9_900, 10_001)]}
    write_lineage(tmp_path, times)
    counting = CountingFiles(LocalFiles(str(tmp_path)))
    lineage = Lineage(counting, TABLE.root())
    for time_ms in (0, 10, 505, 1_000, 50_000, 98_999, 99_000, 99_995, 10**9):
        counting.reads.clear()
        counting.listings.clear()
        found = lineage.at_or_before(time_ms)
        assert (found.id if found else None) == newest_at_or_before(times, time_ms)
        assert (len(counting.listings), len(counting.reads) <= math.log2(len(times)) + 2) == (1, True)


@given(times=lineages(), broken=st.sets(st.integers(1, 500), max_size=5), time_ms=st.integers(-1, 51))
def test_a_half_written_snapshot_never_makes_the_answer_wrong(
    times: dict[int, int], broken: set[int], time_ms: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write_lineage(Path(directory), times)
        for each in broken & set(times):
            (Path(directory) / lineage.root.snapshot(each)).write_text("{")
        expected = newest_at_or_before(times, time_ms)
        try:
            found = lineage.at_or_before(time_ms)
        except Corrupt:
            whole = {each: time for each, time in times.items() if each not in broken}
            # It may only refuse where a broken one lies between the readable answer and the next.
            floor = newest_at_or_before(whole, time_ms) or 0
            ceiling = min((each for each in whole if each > floor), default=501)
            assert any(floor < each < ceiling for each in broken & set(times))
        else:
            assert (found.id if found else None) == expected


def test_a_half_written_newest_snapshot_does_not_stop_older_times(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {1: 100, 2: 200, 3: 300})
    (tmp_path / lineage.root.snapshot(3)).write_text("{")
    found = lineage.at_or_before(150)
    assert found is not None
    assert found.id == 1
    with pytest.raises(Corrupt, match="snapshot-3 is not a whole snapshot record"):
        lineage.at_or_before(250)


def test_an_expiry_under_way_does_not_end_the_lookup(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {each: each * 100 for each in range(1, 9)})

    class ExpiredOnceListed(CountingFiles):
        def names(self, directory: str) -> list[str]:
            names = super().names(directory)
            for each in (1, 2, 3, 4):
                (tmp_path / lineage.root.snapshot(each)).unlink(missing_ok=True)
            return names

    found = Lineage(ExpiredOnceListed(lineage.files), lineage.root).at_or_before(650)
    assert found is not None
    assert found.id == 6
    assert Lineage(ExpiredOnceListed(lineage.files), lineage.root).at_or_before(450) is None
