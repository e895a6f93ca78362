"""The cost of making savepoints and branches, of replacing main (P9), and of deleting a savepoint (P10).

`python -m benchmarks.reclaim [--snapshots N] [--commits N] [--rounds R]`. It compares a deletion with the way
in which orphan cleaning learns the needs of a table: it reads every reference of every root. Rounds are
interleaved; times are medians.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.measuring.words import parser_of
from paimark.core.actions.context import Context, open_context
from paimark.core.actions.registry import action
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import SNAPSHOT_PREFIX
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.histories import TABLE, History, needed_by_all
from tests.table.lineages import CountingFiles

# Paimon's defaults: a savepoint now and then, and few snapshots before the newest.
SAVEPOINT_EVERY, SNAPSHOTS_KEPT = 20, 50
FEW = 1_000


def counting_context(warehouse: Path) -> tuple[Context, CountingFiles]:
    context = open_context(str(warehouse), {}, read_only=False)
    files = CountingFiles(context.files)
    return replace(context, files=files, audit_path=warehouse / "audit.jsonl", verify_wait=0), files


def saved_history(warehouse: Path, commits: int) -> int:
    """Make a table with a savepoint every `SAVEPOINT_EVERY` commits, and return their number."""
    history = History(warehouse, Random(7))
    savepoints = 0
    for number in range(1, commits + 1):
        history.commit()
        if number % SAVEPOINT_EVERY == 0:
            context, _ = counting_context(warehouse)
            do(context, "create-savepoint")
            savepoints += 1
    history.drop_snapshots(commits - SNAPSHOTS_KEPT)
    return savepoints


def do(context: Context, name: str, /, **arguments: object) -> None:
    chosen = action(name)
    chosen.apply(context, chosen.plan(context, TABLE, arguments), lambda line: None)


def manifests_of(reads: list[str]) -> int:
    """The number of different manifests, without lists, that were read."""
    return len({path for path in reads if "/manifest/manifest-" in path and "manifest-list" not in path})


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def delete_one(warehouse: Path, place: Path, number: int) -> tuple[float, float, int, int]:
    """Wall and CPU seconds, reads and manifests; on a copy, so that each round makes the same deletion."""
    shutil.copytree(warehouse, place)
    context, files = counting_context(place)
    wall, cpu = timed(lambda: do(context, "delete-savepoint", id=number))
    shutil.rmtree(place)
    return wall, cpu, len(files.reads), manifests_of(files.reads)


def read_everything(warehouse: Path) -> tuple[float, float, int, int]:
    files = CountingFiles(LocalFiles(str(warehouse)))
    wall, cpu = timed(lambda: needed_by_all(files, TABLE))
    return wall, cpu, len(files.reads), manifests_of(files.reads)


def compare_deleting(commits: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Path(directory) / "warehouse"
        count = saved_history(warehouse, commits)
        found: dict[str, list[tuple[float, float, int, int]]] = {}
        for _ in range(rounds):
            for name, number in (("oldest", 1), ("middle", count // 2), ("newest", count)):
                once = delete_one(warehouse, Path(directory) / "copy", number)
                found.setdefault(f"delete the {name} savepoint", []).append(once)
            found.setdefault("read every reference", []).append(read_everything(warehouse))
    print(f"\nP10 {commits} commits, {count} savepoints (median of {rounds})")
    print(f"  {'':32}{'wall ms':>10}{'cpu ms':>10}{'reads':>9}{'manifests':>11}")
    for name, results in found.items():
        wall, cpu, reads, manifests = (median(values) for values in zip(*results, strict=True))
        print(f"  {name:32}{wall * 1e3:10.1f}{cpu * 1e3:10.1f}{reads:9.0f}{manifests:11.0f}")


def many_snapshots(warehouse: Path, count: int) -> None:
    """Make `count` snapshots. The newest is real; the others have its files, because nothing reads them."""
    history = History(warehouse, Random(7))
    root = TABLE.root()
    for _ in range(5):
        history.commit()
    fields = json.loads(history.files.read(root.snapshot(5)))
    for number in range(1, count + 1):
        (warehouse / root.snapshot(number)).write_text(json.dumps({**fields, "id": number}))
    (warehouse / root.latest_hint).write_text(str(count))
    assert Lineage(history.files, root).latest_id() == count


# In this order, each on the result of the one before: at the end the table is as it was.
CHANGES: tuple[tuple[str, Callable[[int], dict[str, object]]], ...] = (
    ("create-savepoint", lambda number: {}),
    ("create-branch", lambda number: {"name": "fix", "tag": f"savepoint.{number}"}),
    ("replace-main-branch", lambda number: {"name": "fix"}),
    ("undo", lambda number: {}),
    ("delete-branch", lambda number: {"name": "fix"}),
    ("delete-savepoint", lambda number: {"id": number}),
)


def change(place: Path, name: str, arguments: dict[str, object]) -> tuple[float, int, int, int]:
    """Wall seconds, reads of files other than snapshots, reads of snapshots, and listings."""
    context, files = counting_context(place)
    wall, _ = timed(lambda: do(context, name, **arguments))
    snapshots = sum(f"/{SNAPSHOT_PREFIX}" in path for path in files.reads)
    return wall, len(files.reads) - snapshots, snapshots, len(files.listings)


def compare_creating(many: int, rounds: int) -> None:
    print(f"\nP9 (median of {rounds})")
    print(f"  {'':22}{'snapshots':>10}{'wall ms':>10}{'reads':>8}{'of snapshots':>14}{'listings':>10}")
    with tempfile.TemporaryDirectory() as directory:
        places = {count: Path(directory) / str(count) for count in (FEW, many)}
        found: dict[tuple[str, int], list[tuple[float, int, int, int]]] = {}
        for count, place in places.items():
            many_snapshots(place, count)
        for number in range(1, rounds + 1):
            for count, place in places.items():
                for name, arguments in CHANGES:
                    found.setdefault((name, count), []).append(change(place, name, arguments(number)))
        for name, _ in CHANGES:
            for count in places:
                values = zip(*found[name, count], strict=True)
                wall, reads, snapshots, listings = (median(each) for each in values)
                print(
                    f"  {name:22}{count:10,}{wall * 1e3:10.1f}{reads:8.0f}{snapshots:14.0f}{listings:10.0f}"
                )


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__, ("P9", "P10"))
    words.add_argument("--commits", type=int, default=1000)
    words.add_argument("--snapshots", type=int, default=100_000, help=f"beside {FEW:,}")
    words.add_argument("--rounds", type=int, default=5)
    return words


def main() -> None:
    chosen = parser().parse_args()
    if "P9" in chosen.only:
        compare_creating(chosen.snapshots, chosen.rounds)
    if "P10" in chosen.only:
        compare_deleting(chosen.commits, chosen.rounds)


if __name__ == "__main__":
    main()
