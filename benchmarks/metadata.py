"""Read metadata, beside a plain loop and pypaimon, on the same files in the same run.

`python -m benchmarks.metadata [--snapshots N] [--rounds R]`. Each measurement is a process of its own; rounds
are interleaved; times are medians. If times mean little, it counts the work: file operations, requests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measuring.words import parser_of
from paimark.core.storage.open import open_files
from paimark.core.table.lineage.lineage import Lineage
from tests.storage.stores import BUCKET, S3Server, s3_server
from tests.table.lineages import SCHEMA, TABLE, CountingFiles, snapshot_json, write_lineage

PAGE = 200
S3_SNAPSHOTS = 300
FIRST_MS, EVERY_MS = 1_700_000_000_000, 60_000


def commit_times(ids: range | list[int]) -> dict[int, int]:
    return {each: FIRST_MS + each * EVERY_MS for each in ids}


def write_warehouse(directory: Path, ids: range | list[int]) -> Path:
    lineage = write_lineage(directory, commit_times(ids))
    (directory / lineage.root.latest_hint).write_text(str(ids[-1]))
    return directory


def our_lineage(warehouse: str, options: dict[str, str] | None = None) -> Lineage:
    return Lineage(open_files(warehouse, options or {}), TABLE.root())


def pypaimon_snapshots(warehouse: str, options: dict[str, str] | None = None) -> Any:
    from pypaimon import CatalogFactory

    catalog = CatalogFactory.create({"warehouse": warehouse, **(options or {})})
    return catalog.get_table(TABLE.full_name).snapshot_manager()


def plain_loop(warehouse: str) -> Callable[[], int]:
    def read() -> int:
        rows = []
        for entry in os.scandir(f"{warehouse}/{TABLE.root().snapshots}"):
            if entry.name.startswith("snapshot-"):
                with open(entry.path) as file:
                    rows.append(json.loads(file.read()))
        rows.sort(key=lambda row: -row["id"])
        return len(rows)

    return read


def our_rows(warehouse: str) -> Callable[[], int]:
    lineage = our_lineage(warehouse)
    return lambda: len(lineage.rows())


def pypaimon_rows(warehouse: str) -> Callable[[], int]:
    manager = pypaimon_snapshots(warehouse)
    return lambda: len(manager.list_snapshots())


def our_page(warehouse: str) -> Callable[[], int]:
    lineage = our_lineage(warehouse)
    return lambda: len(lineage.newest(PAGE))


def pypaimon_page(warehouse: str) -> Callable[[], int]:
    manager = pypaimon_snapshots(warehouse)

    def read() -> int:
        latest = manager.get_latest_snapshot().id
        return len([manager.get_snapshot_by_id(each) for each in range(latest, latest - PAGE, -1)])

    return read


SUBJECTS = {each.__name__: each for each in (plain_loop, our_rows, pypaimon_rows, our_page, pypaimon_page)}


def peak_kb() -> int:
    """The most memory that this process has held; getrusage's figure can be its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def measure_here(subject: str, warehouse: str) -> None:
    read = SUBJECTS[subject](warehouse)
    before, wall, cpu = peak_kb(), time.perf_counter(), time.process_time()
    rows = read()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"rows": rows, "wall": wall, "cpu": cpu, "peak": peak_kb(), "before": before}))


def measure(subject: str, warehouse: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.metadata", "--measure", subject, str(warehouse)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def interpreter_kb() -> int:
    program = "from pathlib import Path; print(Path('/proc/self/status').read_text())"
    status = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    return int(status.split("VmHWM:")[1].split()[0])


def compare(title: str, cases: list[tuple[str, Path]], rounds: int, peer: int) -> None:
    """Print a line for each case; ratios are to the case at index `peer`."""
    found: list[list[dict[str, float]]] = [[] for _ in cases]
    for _ in range(rounds):
        for results, (subject, warehouse) in zip(found, cases, strict=True):
            results.append(measure(subject, warehouse))
    floor = interpreter_kb()
    middles = [{key: median(each[key] for each in results) for key in results[0]} for results in found]
    print(f"\n{title} (median of {rounds})")
    print(
        f"  {'':34}{'wall ms':>10}{'cpu ms':>10}{'ratio wall':>12}{'ratio cpu':>11}{'MB beyond python':>18}"
    )
    for (subject, warehouse), middle in zip(cases, middles, strict=True):
        ratios = [middle[key] / middles[peer][key] for key in ("wall", "cpu")]
        print(
            f"  {subject + ' ' + warehouse.name:34}{middle['wall'] * 1e3:10.2f}{middle['cpu'] * 1e3:10.2f}"
            f"{ratios[0]:12.2f}{ratios[1]:11.2f}{(middle['peak'] - floor) / 1024:18.1f}"
        )


class CountingIO:
    """Counts the calls of pypaimon's file operations."""

    def __init__(self, file_io: Any) -> None:
        self._file_io = file_io
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        self.calls += 1
        return getattr(self._file_io, name)


def compare_time_lookups(directory: Path) -> None:
    print("\nP5 timestamp -> snapshot, whatever the clocks did (ours: listings + reads, then milliseconds)")
    shapes = {
        "10,000 ids, 101 left at the ends": [*range(1, 101), 10_000],
        "10,000 snapshots around a wide hole": [*range(1, 10_000), 20_000],
        "10,000 snapshots, every third gone": [each for each in range(1, 15_001) if each % 3],
    }
    for number, (shape, ids) in enumerate(shapes.items()):
        warehouse = write_warehouse(directory / f"holes-{number}", ids)
        asked = FIRST_MS + ids[-2] * EVERY_MS + 1
        counting = CountingFiles(open_files(str(warehouse)))
        started = time.perf_counter()
        found = Lineage(counting, TABLE.root()).at_or_before(asked)
        ours_ms = (time.perf_counter() - started) * 1e3
        manager = pypaimon_snapshots(str(warehouse))
        manager.file_io = peer_io = CountingIO(manager.file_io)
        started = time.perf_counter()
        peer = manager.earlier_or_equal_time_mills(asked)
        peer_ms = (time.perf_counter() - started) * 1e3
        assert found is not None
        assert found.id == peer.id == ids[-2]
        ours = f"{len(counting.listings)} + {len(counting.reads)}"
        print(f"  {shape:38} paimark {ours:>10} {ours_ms:7.0f}   pypaimon {peer_io.calls:>8,} {peer_ms:7.0f}")


def compare_requests(server: S3Server) -> None:
    address = f"s3://{BUCKET}/warehouse"
    files = open_files(address, server.options())
    files.replace(TABLE.root().schema(0), SCHEMA.encode())
    for each, committed in commit_times(range(1, S3_SNAPSHOTS + 1)).items():
        files.replace(TABLE.root().snapshot(each), snapshot_json(each, committed).encode())
    files.replace(TABLE.root().latest_hint, str(S3_SNAPSHOTS).encode())
    ours = our_lineage(address, server.options())
    theirs = pypaimon_snapshots(address, server.options())
    print(f"\nP6 object store, all of {S3_SNAPSHOTS} snapshots")
    readers: dict[str, Callable[[], list[Any]]] = {"paimark": ours.rows, "pypaimon": theirs.list_snapshots}
    for name, read in readers.items():
        before, started = len(server.requests()), time.perf_counter()
        assert len(read()) == S3_SNAPSHOTS
        elapsed = time.perf_counter() - started
        requests = (len(server.requests()) - before) / S3_SNAPSHOTS
        print(
            f"  {name:10} {requests:6.3f} requests each {elapsed * 1e3:9.0f} ms against a local moto server"
        )


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__, ("P2", "P3", "P5", "P6"))
    words.add_argument("--snapshots", type=int, default=100_000)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--measure", nargs=2, metavar=("SUBJECT", "WAREHOUSE"), help=argparse.SUPPRESS)
    return words


def main() -> None:
    chosen = parser().parse_args()
    if chosen.measure:
        measure_here(*chosen.measure)
        return
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        if {"P2", "P3"} & {*chosen.only}:
            compare_listings(directory, chosen)
        if "P5" in chosen.only:
            compare_time_lookups(directory)
        if "P6" in chosen.only:
            with s3_server(directory) as server:
                compare_requests(server)


def compare_listings(directory: Path, chosen: argparse.Namespace) -> None:
    small = write_warehouse(directory / "1k", range(1, 1_001))
    large = write_warehouse(directory / f"{chosen.snapshots // 1000}k", range(1, chosen.snapshots + 1))
    if "P2" in chosen.only:
        pages = [("our_page", small), ("our_page", large), ("pypaimon_page", small), ("pypaimon_page", large)]
        compare(f"P2 newest {PAGE} snapshots", pages, max(chosen.rounds, 9), peer=0)
    if "P3" in chosen.only:
        lists = [("plain_loop", large), ("our_rows", large), ("pypaimon_rows", large)]
        compare("P3 all snapshots", lists, chosen.rounds, peer=0)


if __name__ == "__main__":
    main()
