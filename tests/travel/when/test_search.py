"""The binary search: what it counts, and what it says of holes, rows that come and go, and expiries."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import UsageError
from paimark.core.travel.when import Count, Found, Version, first_with_rows, require_condition


class Table:
    """Versions by their ids, of which some have rows and some expire when they are counted."""

    def __init__(self, ids: list[int], bad: set[int], gone: set[int]) -> None:
        self.versions = [Version(each, f"snapshot.{each}") for each in ids]
        self.bad, self.gone = bad, gone
        self.counted: list[int] = []

    def count(self, version: Version) -> Count | None:
        self.counted.append(version.snapshot_id)
        if version.snapshot_id in self.gone:
            return None
        return Count(version, version.snapshot_id * 1000, int(version.snapshot_id in self.bad))

    def find(self) -> Found | Count | None:
        return first_with_rows(self.versions, self.count)


NUMBERS = st.sets(st.integers(1, 60))


@given(NUMBERS, NUMBERS, NUMBERS)
def test_it_finds_rows_behind_a_version_without(ids: set[int], bad: set[int], gone: set[int]) -> None:
    table = Table(sorted(ids), bad, gone)
    found = table.find()
    left = sorted(ids - gone)
    if not left:
        assert found is None
    elif left[-1] not in bad:
        assert isinstance(found, Count) and (found.version.snapshot_id, found.rows) == (left[-1], 0)
    else:
        assert isinstance(found, Found) and found.newest.version.snapshot_id == left[-1]
        first = found.first.version.snapshot_id
        assert first in bad and first in left
        if found.before is None:
            assert first == left[0]
        else:
            before = found.before.version.snapshot_id
            assert left.index(before) == left.index(first) - 1 and before not in bad
            assert found.gone == first - before - 1


def test_of_ten_thousand_versions_it_counts_fifteen() -> None:
    table = Table(list(range(1, 10_001)), set(range(7_777, 10_001)), set())
    found = table.find()
    assert isinstance(found, Found) and found.first.version.snapshot_id == 7_777
    assert len(table.counted) <= math.log2(10_000) + 2


@pytest.mark.parametrize(
    "text", ["", "  ", "-- nothing", "a < 1) OR (1 = 1", "a < (1", "a = 'x", "a < 1; DROP TABLE t", "\ud800"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        require_condition(text)


@pytest.mark.parametrize("text", ["a < 1", " (a) ", "a = ')'", "a < 1 -- why", "`)` IS NULL", "f(a, (b))"])
def test_a_condition_stays_as_it_is(text: str) -> None:
    assert require_condition(text) == f"({text.strip()}\n)"
