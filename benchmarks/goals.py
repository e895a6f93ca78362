"""The goals by number: what each measures, and the commands for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# A module, and its command-line words.
Command = tuple[str, ...]


class Goal(NamedTuple):
    what: str
    commands: tuple[Command, ...]


GOALS: Mapping[str, Goal] = {
    "P1": Goal("process start to the first frame with real rows", (("benchmarks.console", "--only", "P1"),)),
    "P2": Goal(
        "the newest page of snapshots, however many there are", (("benchmarks.metadata", "--only", "P2"),)
    ),
    "P3": Goal(
        "all of 100,000 snapshots, beside a plain loop and pypaimon",
        (("benchmarks.metadata", "--only", "P3"),),
    ),
    "P4": Goal(
        "a pane of 100,000 rows: its first paint, and a page down", (("benchmarks.console", "--only", "P4"),)
    ),
    "P5": Goal(
        "the snapshot at a time, whatever the clocks of writers did: file operations",
        (("benchmarks.metadata", "--only", "P5"),),
    ),
    "P6": Goal("all snapshots on an object store: requests", (("benchmarks.metadata", "--only", "P6"),)),
    "P7": Goal("process start to the rows of a first query", (("benchmarks.spark_start",),)),
    "P8": Goal(
        "five questions to three kinds of tables, beside the stock connector; P8b: beside pypaimon-rust",
        (("benchmarks.spark_scans",),),
    ),
    "P8c": Goal(
        "the same questions to tables that Spark's own readers do not read", (("benchmarks.source_scans",),)
    ),
    "P9": Goal(
        "savepoints, branches and a replacement of main on long histories: file operations",
        (("benchmarks.reclaim", "--only", "P9"),),
    ),
    "P10": Goal(
        "deletions on a million data files and a thousand branches",
        (("benchmarks.counting",), ("benchmarks.reclaim", "--only", "P10")),
    ),
    "P11": Goal(
        "from a key to its repaint while a query runs, and the bytes that it sends",
        (("benchmarks.terminal_keys",), ("benchmarks.terminal_bytes",)),
    ),
    "P12": Goal(
        "the first query after a new commit on a large keyed table", (("benchmarks.spark_commits",),)
    ),
    "P13": Goal(
        "a billion merged rows in 100,000 files on a small cluster",
        (("benchmarks.spark_scale", "--rows", "1000000000", "--files", "100000", "--buckets", "10"),),
    ),
    "P14": Goal(
        "one row in a hundred deleted, updated, merged, and a full compaction",
        (("benchmarks.spark_changes",),),
    ),
    "P20": Goal(
        "since when, what happened to a row, and a hundred rows as they were", (("benchmarks.repair",),)
    ),
}
