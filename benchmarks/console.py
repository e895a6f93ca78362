"""The console beside its peers: its start (P1), and many rows in a grid (P4), in the same run.

`python -m benchmarks.console [--rounds R] [--rows N]`. It installs harlequin and textual-fastdatatable, each
into an environment of its own in the cache. Rounds are interleaved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measuring.words import parser_of
from benchmarks.metadata import write_warehouse
from benchmarks.peers.environments import peer_python
from benchmarks.terminal import time_start

HARLEQUIN = "harlequin==2.17.0"
FASTDATATABLE = ("textual-fastdatatable==0.19.5", "textual==8.2.8")
_CHECKOUT = Path(__file__).parent.parent


def environment(state: str) -> dict[str, str]:
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TEXTUAL", "TMUX", "PYTHON"))
        },
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22",
        "XDG_STATE_HOME": state,
        "XDG_DATA_HOME": state,
        "XDG_CONFIG_HOME": state,
    }


def compare_starts(rounds: int) -> None:
    """From process start to a frame with rows; for harlequin, which opens no table, to its first frame."""
    with tempfile.TemporaryDirectory() as place:
        warehouse = write_warehouse(Path(place) / "warehouse", range(1, 51))
        harlequin = peer_python("harlequin", HARLEQUIN).parent / "harlequin"
        subjects = {
            "paimark": ([str(Path(sys.executable).parent / "paimark"), f"{warehouse}/"], b"APPEND"),
            "minimal app, 50 rows": (
                [sys.executable, str(_CHECKOUT / "benchmarks/minimal_app.py")],
                b"APPEND",
            ),
            "harlequin": ([str(harlequin), f"{place}/duck.db"], b"Data Catalog"),
        }
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in subjects}
        # One start of each beforehand, so that compilation and caches are ready for all.
        for number in range(rounds + 1):
            for name, (command, words) in subjects.items():
                start = time_start(command, words, environment(place))
                if number:
                    found[name].append((start.wall, start.cpu, start.sent))
    middles = {
        name: [median(values) for values in zip(*starts, strict=True)] for name, starts in found.items()
    }
    ours = middles["paimark"]
    print(f"\nP1 process start -> first frame with real rows (median of {rounds})")
    print(f"  {'':24}{'wall ms':>10}{'cpu ms':>10}{'kB sent':>10}{'paimark is':>12}{'by cpu':>9}")
    for name, (wall, cpu, sent) in middles.items():
        print(
            f"  {name:24}{wall * 1e3:10.0f}{cpu * 1e3:10.0f}{sent / 1e3:10.1f}"
            f"{ours[0] / wall:12.2f}{ours[1] / cpu:9.2f}"
        )


def compare_grids(rounds: int, rows: int) -> None:
    fast = peer_python("fastdatatable", *FASTDATATABLE)
    subjects = {"paimark": ("ours", sys.executable), "fastdatatable": ("fastdatatable", str(fast))}
    subjects["DataTable"] = ("datatable", sys.executable)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in subjects}
    calm = {**os.environ, "TEXTUAL_ANIMATIONS": "none"}
    for _ in range(rounds):
        for name, (kind, python) in subjects.items():
            command = [python, "-m", "benchmarks.grids", kind, str(rows)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, cwd=_CHECKOUT, env=calm
            )
            found[name].append(json.loads(done.stdout))
    print(f"\nP4 {rows:,} rows in a grid (median of {rounds}), milliseconds")
    print(f"  {'':24}{'first paint':>12}{'cpu':>9}{'page down':>12}{'cpu':>9}")
    for name, results in found.items():
        middle = {key: median(each[key] for each in results) * 1e3 for key in results[0]}
        print(
            f"  {name:24}{middle['first_wall']:12.1f}{middle['first_cpu']:9.1f}"
            f"{middle['page_wall']:12.1f}{middle['page_cpu']:9.1f}"
        )


def parser() -> argparse.ArgumentParser:
    words = parser_of(__doc__, ("P1", "P4"))
    words.add_argument("--rounds", type=int, default=9)
    words.add_argument("--rows", type=int, default=100_000)
    return words


def main() -> None:
    chosen = parser().parse_args()
    if "P1" in chosen.only:
        compare_starts(chosen.rounds)
    if "P4" in chosen.only:
        compare_grids(min(chosen.rounds, 5), chosen.rows)


if __name__ == "__main__":
    main()
