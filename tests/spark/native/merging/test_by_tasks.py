"""Groups of files are cut into tasks, which merge them as the engine's process does."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from paimark.core.spark.merging.model import MergeColumns, MergeFile, MergeGroup, MergeRules
from paimark.core.spark.native.by_tasks.ranges import merge_tasks

RULES = MergeRules(("BIGINT", "STRING"), (), False, False, {0: MergeColumns(("_KEY_a", "_KEY_b"), ())})


def file(name: str, low: int, high: int, rows: int, file_format: str = "parquet") -> MergeFile:
    keys = ((True, low), (True, b"a")), ((True, high), (True, b"z"))
    return MergeFile(name, file_format, 0, 0, rows, 0, rows, 0, *keys)


def merged_as_here(scratch: Path, buckets: int) -> str:
    words = [sys.executable, "-m", "tests.spark.native.merging.merging_child", str(scratch), str(buckets)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr[-2000:] if done.returncode else done.stdout


@pytest.mark.long
def test_tasks_choose_the_rows_that_the_engine_chooses(tmp_path: Path) -> None:
    assert "buckets are alike" in merged_as_here(tmp_path, 24)


@pytest.mark.long
def test_tasks_choose_the_rows_of_many_buckets(tmp_path: Path) -> None:
    assert "buckets are alike" in merged_as_here(tmp_path, 400)


def test_small_groups_go_together() -> None:
    groups = [MergeGroup(RULES, (file(f"{n}", n, n, 40), file(f"{n}b", n, n, 10))) for n in range(5)]
    tasks = merge_tasks(groups, 100)
    assert [[place for place, _ in task.parts] for task in tasks] == [[0, 1], [2, 3], [4]]
    assert all(task.low is None and task.high is None for task in tasks)


def test_a_big_group_is_cut_into_ranges_of_its_keys() -> None:
    run = [file(f"run-{n}", n * 100, n * 100 + 99, 100) for n in range(20)]
    group = MergeGroup(RULES, (file("new", 0, 1_999, 1_000), *run))
    tasks = merge_tasks([group], 600)
    assert len(tasks) == 5
    assert tasks[0].low is None and tasks[-1].high is None
    assert all(before.high == after.low for before, after in pairwise(tasks))
    bounds = [task.low or () for task in tasks[1:]]
    assert bounds == sorted(bounds)
    for task in tasks:
        [(_, files)] = task.parts
        # The one that has all keys, and those of the run that reach into the range.
        assert 0 in files and len(files) <= 6
    assert {index for task in tasks for _, files in task.parts for index in files} == set(range(21))


def test_files_of_equal_keys_are_cut_where_their_numbers_lie() -> None:
    group = MergeGroup(RULES, tuple(file(f"{n}", -1_000, 1_000, 1_000) for n in range(4)))
    tasks = merge_tasks([group], 1_000)
    assert [task.low for task in tasks] == [None, (-500,), (0,), (500,)]


def test_files_whose_rows_have_no_place_are_not_cut() -> None:
    group = MergeGroup(RULES, tuple(file(f"{n}", 0, 99, 1_000, "orc") for n in range(4)))
    [task] = merge_tasks([group], 10)
    assert task.parts == ((0, (0, 1, 2, 3)),)
