"""Bits made from those of another snapshot: the same as those merged from nothing, with less to read."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paimark.core.errors import FileMissing
from paimark.core.spark.incremental import delta
from paimark.core.spark.incremental.delta import BitCache, earlier, survivors_since
from paimark.core.spark.incremental.kept_keys import KeptKeys, KeyFiles
from paimark.core.spark.incremental.packed_keys import PackedNumbers
from paimark.core.spark.merging.model import MergeColumns, MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.single_versions import overlap_groups
from paimark.core.spark.merging.survive import survivors
from tests.long import examples
from tests.spark.native.merging.test_bitmap import Bucket, Row, buckets, write_files

ROOM = 1 << 20
ANY = st.integers(-(2**63), 2**63 - 1)
RULES = MergeRules(("BIGINT",), (), False, False, {0: MergeColumns(("_KEY_k",), ())})


class Tables:
    """Files in memory, and merging with what is kept. `reused`: how many groups were not merged whole."""

    def __init__(self, opener: Any, room: int = ROOM) -> None:
        self.opener = opener
        self.bits, self.keys = BitCache(ROOM), KeptKeys(room)
        self.room = room
        self.opened: list[str] = []
        self.reused = 0

    def open(self, path: str) -> Any:
        self.opened.append(path)
        return self.opener(path)

    def check(self, rules: MergeRules, files: Iterable[MergeFile]) -> None:
        """Every group merges to what it does from nothing."""
        self.keys.begin_search(self.room)
        for group in overlap_groups(rules, files):
            if group.must_merge and self.bits.get(group) is None:
                expected = survivors(group, self.opener)
                before = earlier(group, self.bits)
                found = None if before is None else survivors_since(group, before, self.open, self.keys)
                self.reused += found is not None
                for file, one, other in zip(group.files, found or expected, expected, strict=True):
                    assert one.rows == other.rows, file
                    assert one.truths().tolist() == other.truths().tolist(), file
                self.bits.put(group, found or expected)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Bucket, list[bool], list[list[int]], int]:
    """A bucket, which of its files have no deletes, states (files that are there together), and the room."""
    bucket = draw(buckets().filter(lambda bucket: len(bucket.files) > 2))
    places = range(len(bucket.files))
    lifted = [draw(st.booleans()) and all(row.kind in (0, 2) for row in rows) for _, rows in bucket.files]
    states = [draw(st.lists(st.sampled_from(places), min_size=1, unique=True))]
    for _ in range(draw(st.integers(1, 6))):
        changed = draw(st.sets(st.sampled_from(places), min_size=1, max_size=2))
        states.append(sorted(changed.symmetric_difference(states[-1])) or [0])
    return bucket, lifted, states, draw(st.sampled_from([0, 400, ROOM]))


def _of(*keys: tuple[int, int], first: int) -> tuple[bool, tuple[Row, ...]]:
    return False, tuple(Row(key, (), 0, number) for number, key in enumerate(keys, first))


# Of the files' rows that were looked up none can have a key in common.
APART = Bucket(
    ("DECIMAL(30, 3)", "BIGINT"),
    (),
    False,
    False,
    (
        _of((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), first=0),
        _of((7, 0), first=5),
        _of((0, 0), (0, 1), first=6),
        _of((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (5, 1), (7, 2), first=8),
        _of((4, 0), (5, 0), (6, 0), first=15),
    ),
)
STATES = [[4], [3], [1, 3, 4], [0, 1, 3, 4], [3, 4], [0, 3, 4], [1, 3, 4]]
REUSED = [0]


@settings(max_examples=examples(40, 100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
@example((APART, [False] * 5, STATES, 0))
def generated(history: tuple[Bucket, list[bool], list[list[int]], int]) -> None:
    bucket, lifted, states, room = history
    rules, files, opener = write_files(bucket)
    files = [
        replace(file, level=5) if is_lifted else file for file, is_lifted in zip(files, lifted, strict=True)
    ]
    tables = Tables(opener, room)
    for state in states:
        tables.check(rules, [files[place] for place in state])
    REUSED[0] += tables.reused


def test_any_history_merges_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """All types of keys, deletes, sequence fields, files that come and go, groups that join and part."""
    monkeypatch.setattr(delta, "_WORTH_SEARCHING", 0)
    REUSED[0] = 0
    generated()
    assert REUSED[0] > 40


class Numbers:
    """Files of one whole number as their key, in row groups of a hundred."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}
        self.names = (f"file-{number}" for number in count())

    def file(self, keys: Any, *, level: int = 0, first: int = 0, kinds: Any = None) -> MergeFile:
        keys = np.unique(np.asarray(keys, dtype=np.int64))
        path = next(self.names)
        sink = io.BytesIO()
        table = {
            "_KEY_k": keys,
            "_SEQUENCE_NUMBER": np.arange(first, first + len(keys)),
            "_VALUE_KIND": np.zeros(len(keys), np.int8) if kinds is None else np.resize(kinds, len(keys)),
        }
        pq.write_table(pa.table(table), sink, row_group_size=100)
        self.stored[path] = sink.getvalue()
        low, high = ((True, int(keys[at])) for at in (0, -1))
        return MergeFile(
            path, "parquet", 0, level, len(keys), first, first + len(keys) - 1, 0, (low,), (high,)
        )

    def open(self, path: str) -> Any:
        return pa.BufferReader(self.stored[path])


def test_many_commits_and_compactions_merge_to_the_same() -> None:
    random, numbers = np.random.default_rng(7), Numbers()
    tables = Tables(numbers.open)
    big = [numbers.file(range(start, start + 9_000, 3), level=5) for start in range(0, 45_000, 9_000)]
    files, serial = list(big), 3_000
    for step in range(40):
        size = int(random.integers(1, 60))
        kinds = random.choice([0, 0, 2, 3, 1], size)
        middle = int(random.integers(0, 45_000))
        spread = int(random.choice([200, 50_000]))
        files.append(
            numbers.file(random.integers(middle - spread, middle + spread, size), first=serial, kinds=kinds)
        )
        serial += size
        if step % 9 == 8:
            # One of the big files and all small ones become a big one.
            gone = [files.pop(int(random.integers(0, 5))), *files[4:]]
            del files[4:]
            keys = np.concatenate([pq.read_table(numbers.open(each.path))["_KEY_k"] for each in gone])
            files.insert(0, numbers.file(keys, level=5, first=serial))
            serial += len(keys)
        tables.check(RULES, files)
    assert tables.reused >= 35


def test_only_row_groups_that_can_hold_a_key_are_read_and_none_twice() -> None:
    numbers = Numbers()
    tables = Tables(numbers.open)
    big = [numbers.file(range(start, start + 10_000, 2), level=5) for start in (0, 20_000)]
    first = numbers.file([10, 4_000, 12_000], first=20_000)
    tables.check(RULES, [*big, first])
    # Not the file whose keys are greater.
    assert set(tables.opened) == {big[0].path, first.path}
    assert 0 < tables.keys.nbytes < 12_000
    tables.opened.clear()
    second = numbers.file([12, 20_002], first=30_000)
    tables.check(RULES, [*big, first, second])
    assert set(tables.opened) == {big[1].path, second.path}
    tables.opened.clear()
    tables.check(RULES, [*big, first, second, numbers.file([14, 4_002], first=40_000)])
    assert tables.opened == ["file-4"]
    assert tables.reused == 3


def test_files_that_went_are_looked_up_in_memory_or_all_is_merged() -> None:
    numbers = Numbers()
    # Of which deletes can't be ruled out: it is not known to be whole without the others.
    big = numbers.file(range(1_000))
    small = [numbers.file([5, 7], first=2_000), numbers.file([7, 900], first=3_000, kinds=[3])]
    for room, is_reused in ((ROOM, True), (0, False)):
        tables = Tables(numbers.open, room)
        tables.check(RULES, [big, small[0]])
        tables.check(RULES, [big, *small])
        kept = numbers.stored.pop(small[0].path), numbers.stored.pop(small[1].path)
        compacted = numbers.file([5, 7], level=4, first=2_500)

        def gone_or_there(path: str) -> Any:
            if path not in numbers.stored:
                raise FileMissing(path)
            return numbers.open(path)

        tables.opener = gone_or_there
        before = tables.reused
        tables.check(RULES, [big, compacted])
        assert (tables.reused > before) is is_reused
        for file, data in zip(small, kept, strict=True):
            numbers.stored[file.path] = data


def test_a_file_of_the_same_name_that_is_another_is_not_the_same() -> None:
    """As after a drop and a create by a writer that counts its files: never reused, whatever differs."""
    numbers = Numbers()
    tables = Tables(numbers.open)
    big, small = numbers.file(range(1_000), level=5), numbers.file([5, 7], first=2_000)
    tables.check(RULES, [big, small])
    numbers.stored[big.path], data = numbers.stored[numbers.file(range(500, 1_600), level=5).path], None
    assert data is None
    other = replace(big, row_count=1_100, min_key=((True, 500),), max_key=((True, 1_599),))
    tables.check(RULES, [other, replace(small, min_key=((True, 5),))])
    third = numbers.file([501, 1_500], first=3_000)
    tables.check(RULES, [other, third])


def test_other_columns_to_compare_are_another_merge() -> None:
    """A column that decides what is newer was exchanged for another of its type."""
    numbers = Numbers()
    big, small = numbers.file(range(1_000), level=5), numbers.file([5, 7], first=2_000)
    kept = BitCache(ROOM)
    group = MergeGroup(RULES, (big, small))
    kept.put(group, survivors(group, numbers.open))
    other = replace(RULES, columns={0: MergeColumns(("_KEY_other",), ())})
    ways = [(RULES, True), (other, False), (replace(RULES, ignore_delete=True), False)]
    # A key that became wider: files hold the same columns, and other values may be equal.
    ways.append((replace(RULES, key_types=("INT",)), False))
    for rules, is_near in ways:
        more = MergeGroup(rules, (big, small, numbers.file([9], first=3_000)))
        assert (earlier(more, kept, merged_only=True) is not None) is is_near


def test_what_a_search_used_is_not_lost_to_the_same_search() -> None:
    numbers = Numbers()
    files = [numbers.file(range(start, start + 1_000)) for start in range(0, 8_000, 1_000)]
    kept = KeptKeys(4_000)
    opened: list[str] = []

    def watched(path: str) -> Any:
        opened.append(path)
        return numbers.open(path)

    keys = KeyFiles(RULES, watched, kept, with_numbers=False)
    for search in range(3):
        kept.begin_search(4_000)
        opened.clear()
        for file in files:
            assert len(keys.all(file).key[0]) == 1_000
        assert kept.nbytes <= 4_000
        assert (len(opened) < len(files)) is (search > 0)
    kept.begin_search(100)
    assert kept.nbytes <= 100


@settings(max_examples=examples(30, 60), deadline=None)
@given(
    st.sets(st.integers(-(2**63), 2**63 - 1) | st.integers(-3_000, 3_000), min_size=1), st.integers(0, 5_000)
)
def test_packed_numbers_are_found_where_they_are(some: set[int], many: int) -> None:
    values = np.unique(np.array([*some, *range(10, 10 + 3 * many, 3)], dtype=np.int64))
    packed = PackedNumbers.of(values)
    assert (packed.values(np.arange(len(values))) == values).all()
    wanted = np.unique(np.array([*some, -1, 0, 1, 10, 11, 13, 2**63 - 1, -(2**63)], dtype=np.int64))
    assert packed.find(wanted).tolist() == np.flatnonzero(np.isin(values, wanted)).tolist()
    if len(some) == 1 and abs(next(iter(some))) <= 3_000:
        assert packed.nbytes <= 3 * len(values) + 16 * 6


def test_what_is_kept_does_not_grow_with_the_snapshots() -> None:
    numbers = Numbers()
    big, room = numbers.file(range(6_400), level=5), 4_000
    tables = Tables(numbers.open, room)
    tables.bits = BitCache(room)
    sizes = []
    for number in range(200):
        small = numbers.file([number, number + 700], first=10_000 + 10 * number)
        tables.check(RULES, [big, small])
        sizes.append((tables.keys.nbytes, tables.bits._bytes, len(tables.bits._groups_of)))
    assert tables.reused == 200
    keys, bits, files = map(max, zip(*sizes, strict=True))
    assert 0 < keys <= room and 0 < bits <= room and files <= 6
