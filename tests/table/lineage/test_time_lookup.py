"""The snapshot committed last at or before a time, whatever the clocks of the writers did."""

from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimark.core.errors import Corrupt
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from tests.table.lineages import TABLE, CountingFiles, write_lineage
from tests.wording import about

# A clock that was ahead for one commit.
ONE_AHEAD = {1: 1000, 2: 2000, 3: 9000, 4: 3000, 5: 4000}


@st.composite
def lineages(draw: st.DrawFn) -> dict[int, int]:
    """Ids with holes, and any times; several snapshots may share a millisecond."""
    ids = sorted(draw(st.sets(st.integers(1, 500), max_size=40)))
    times = draw(st.lists(st.integers(0, 50), min_size=len(ids), max_size=len(ids)))
    return dict(zip(ids, sorted(times) if draw(st.booleans()) else times, strict=True))


def last_at_or_before(times: dict[int, int], time_ms: int) -> int | None:
    candidates = [(committed, each) for each, committed in times.items() if committed <= time_ms]
    return max(candidates)[1] if candidates else None


@given(times=lineages(), time_ms=st.integers(-1, 51))
@example(times=ONE_AHEAD, time_ms=5000)
def test_the_answer_is_that_of_looking_at_every_snapshot(times: dict[int, int], time_ms: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = write_lineage(Path(directory), times)
        snapshot = lineage.at_or_before(time_ms)
        assert (snapshot.id if snapshot else None) == last_at_or_before(times, time_ms)


@given(times=lineages(), time_ms=st.integers(-1, 51))
@example(times=ONE_AHEAD, time_ms=5000)
def test_the_first_since_a_time_leaves_out_none_from_then_on(times: dict[int, int], time_ms: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        first = write_lineage(Path(directory), times).first_since(time_ms)
        from_then = [each for each, committed in times.items() if committed >= time_ms]
        assert first == (from_then[0] if from_then else None)


@given(times=lineages())
def test_the_oldest_is_the_one_committed_first(times: dict[int, int]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        snapshot = write_lineage(Path(directory), times).oldest()
        assert (snapshot and snapshot.time_millis) == min(times.values(), default=None)


class Etagged(CountingFiles):
    """As object stores do it: a listing tells the digest of each file."""

    def etags(self, directory: str) -> dict[str, str | None]:
        names = super().etags(directory)
        return {name: sha256(self.inner.read(f"{directory}/{name}")).hexdigest() for name in names}


def test_where_a_listing_tells_etags_each_snapshot_is_read_once(tmp_path: Path) -> None:
    # What a walk from id to id suffers most from: the snapshots sit at both ends of a wide hole.
    times = {each: each * 10 for each in [*range(1, 101), *range(9_900, 10_001)]}
    write_lineage(tmp_path, times)
    counting = Etagged(LocalFiles(str(tmp_path)))
    costs = []
    for time_ms in (0, 10, 505, 1_000, 50_000, 98_999, 99_000, 99_995, 10**9):
        counting.reads.clear()
        counting.listings.clear()
        snapshot = Lineage(counting, TABLE.root()).at_or_before(time_ms)
        assert (snapshot.id if snapshot else None) == last_at_or_before(times, time_ms)
        costs.append((len(counting.listings), len(counting.reads)))
    assert costs == [(1, len(times)), *[(1, 1)] * 8]


@pytest.mark.parametrize("store", [CountingFiles, Etagged])
def test_a_snapshot_written_again_under_its_id_is_read_again(
    tmp_path: Path, store: type[CountingFiles]
) -> None:
    write_lineage(tmp_path, {1: 100, 2: 200})
    lineage = Lineage(store(LocalFiles(str(tmp_path))), TABLE.root())
    assert (snapshot := lineage.at_or_before(150)) and snapshot.id == 1
    write_lineage(tmp_path, {1: 180, 2: 120})
    assert (snapshot := lineage.at_or_before(150)) and snapshot.id == 2


BROKEN = st.sets(st.integers(1, 500), max_size=5)


def broken_lineage(directory: str, times: dict[int, int], broken: set[int]) -> Lineage:
    lineage = write_lineage(Path(directory), times)
    for each in broken & set(times):
        (Path(directory) / lineage.root.snapshot(each)).write_text("{")
    return lineage


@given(times=lineages(), broken=BROKEN, time_ms=st.integers(-1, 51))
def test_a_half_written_snapshot_never_makes_the_answer_wrong_where_times_rise(
    times: dict[int, int], broken: set[int], time_ms: int
) -> None:
    times = dict(zip(times, sorted(times.values()), strict=True))
    with tempfile.TemporaryDirectory() as directory:
        lineage = broken_lineage(directory, times, broken)
        try:
            snapshot = lineage.at_or_before(time_ms)
        except Corrupt:
            whole = {each: time for each, time in times.items() if each not in broken}
            # It may only refuse where a broken one lies between the readable answer and the next.
            floor = last_at_or_before(whole, time_ms) or 0
            ceiling = min((each for each in whole if each > floor), default=501)
            assert any(floor < each < ceiling for each in broken & set(times))
        else:
            assert (snapshot.id if snapshot else None) == last_at_or_before(times, time_ms)


@given(times=lineages(), broken=BROKEN, time_ms=st.integers(-1, 51))
def test_a_half_written_snapshot_is_named_whatever_the_clocks_did(
    times: dict[int, int], broken: set[int], time_ms: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lineage = broken_lineage(directory, times, broken)
        unread = {lineage.root.snapshot(each) for each in broken & set(times)}
        try:
            snapshot = lineage.at_or_before(time_ms)
        except Corrupt:
            assert unread
        else:
            whole = {each: time for each, time in times.items() if each not in broken}
            assert (snapshot.id if snapshot else None) == last_at_or_before(whole, time_ms)
        assert set(lineage.unreadable) == unread


def test_a_half_written_newest_snapshot_does_not_stop_older_times(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {1: 100, 2: 200, 3: 300})
    (tmp_path / lineage.root.snapshot(3)).write_text("{")
    snapshot = lineage.at_or_before(150)
    assert snapshot is not None
    assert snapshot.id == 1
    with pytest.raises(Corrupt, match=about("snapshot-3", "not", "snapshot record")):
        lineage.at_or_before(250)


def test_an_expiry_under_way_does_not_end_the_lookup(tmp_path: Path) -> None:
    lineage = write_lineage(tmp_path, {each: each * 100 for each in range(1, 9)})

    class ExpiredOnceListed(CountingFiles):
        def etags(self, directory: str) -> dict[str, str | None]:
            etags = super().etags(directory)
            for each in (1, 2, 3, 4):
                (tmp_path / lineage.root.snapshot(each)).unlink(missing_ok=True)
            return etags

    snapshot = Lineage(ExpiredOnceListed(lineage.files), lineage.root).at_or_before(650)
    assert snapshot is not None
    assert snapshot.id == 6
    assert Lineage(ExpiredOnceListed(lineage.files), lineage.root).at_or_before(450) is None
