"""`python -m tests.simulation --seed 7 --store s3`: replay a seed, or a crash point, and print its trace.

It also runs many: `--seeds 0-99`, `--crashes`, for at most `--minutes`. For each that fails, it prints the
command that replays it.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.simulation.actors.operations import MOVES
from tests.simulation.actors.server import Differing, Server, opener
from tests.simulation.formats import Lean
from tests.simulation.judging.mirror import dump
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.cases import CASES
from tests.simulation.schedules.crash_points import CrashPoints, is_known_fault
from tests.simulation.schedules.hazards import ALL, COVERED, Hazard
from tests.simulation.schedules.planted import PLANTS, planted
from tests.simulation.schedules.seeds import Run
from tests.simulation.schedules.sessions import Session
from tests.simulation.stock.format import Stock
from tests.simulation.world import Violation

_KINDS: tuple[StoreKind, ...] = ("local", "s3", "hdfs")


class Attempt(NamedTuple):
    """The arguments that replay it, the function that runs it and raises, and the trace of the run."""

    replay: str
    run: Callable[[], object]
    trace: Callable[[], list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--store", choices=_KINDS)
    parser.add_argument("--seeds", help="a range: 0-99")
    parser.add_argument("--sessions", action="store_true", help="seeds of sessions that stay open")
    parser.add_argument("--server", help="a URI of a real store: s3://lake, hdfs://host:port; with --store")
    parser.add_argument("--option", action="append", default=[], help="NAME=VALUE, of that store's catalog")
    parser.add_argument("--point", action="append", default=[], help="a crash point as it is printed")
    parser.add_argument("--crashes", action="store_true", help="every crash point of every case")
    parser.add_argument("--late", action="store_true", help="every write of every case, come too late")
    parser.add_argument("--case", help="only the crash points of this case")
    parser.add_argument("--every", type=int, default=1, help="only every n-th crash point")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="stop after so long")
    parser.add_argument(
        "--dump", type=Path, help="write the table of a seed to this directory, for real readers"
    )
    parser.add_argument("--all", action="store_true", help="also with what is known to go wrong")
    parser.add_argument("--with", dest="more", choices=[each.name for each in Hazard], help="also with this")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="with this fault; one failure is enough")
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # A schedule depends on the iteration order of sets of texts.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]], environment)
    if bool(arguments.server) > (arguments.store in ("s3", "hdfs")):
        parser.error("--server needs --store s3 or hdfs")
    if arguments.plant:
        with planted(arguments.plant):
            return _run_all(_attempts(arguments), 60 * arguments.minutes, enough=1)
    return _run_all(_attempts(arguments), 60 * arguments.minutes)


def _run_all(attempts: Iterator[Attempt], seconds: float, enough: float = math.inf) -> int:
    began = time.monotonic()
    count = failed = 0
    for replay, run, trace in attempts:
        if time.monotonic() - began > seconds or failed >= enough:
            break
        count += 1
        is_alone = "--seed " in " ".join(sys.argv) or "--point" in sys.argv
        try:
            run()
        except (Violation, Differing, Exception) as error:
            failed += 1
            print(f"python -m tests.simulation {replay}  # {error!r:.250}", flush=True)
            if is_alone:
                print("\n".join(trace()))
                traceback.print_exc()
        else:
            if is_alone:
                print("\n".join(trace()))
    print(f"{failed} of {count} failed, in {time.monotonic() - began:.0f} s")
    return 1 if failed or not count else 0


def _attempts(arguments: argparse.Namespace) -> Iterator[Attempt]:
    if arguments.crashes or arguments.late or arguments.point:
        yield from _crashes(arguments)
    else:
        yield from _seeds(arguments)


def _seeds(arguments: argparse.Namespace) -> Iterator[Attempt]:
    opened = _opener(arguments)
    first, _, last = (arguments.seeds or str(arguments.seed)).partition("-")
    for seed in range(int(first), int(last or first) + 1):
        kind: StoreKind = arguments.store or _KINDS[seed % len(_KINDS)]
        formats = Stock() if arguments.dump else Lean()
        if arguments.sessions:
            run: Run | Session = Session(seed, kind, _hazards(arguments), formats)
        else:
            run = Run(seed, kind, _hazards(arguments), formats, opened() if opened else None)
        more = " --all" if arguments.all else f" --with {arguments.more}" if arguments.more else ""
        more += " --sessions" if arguments.sessions else ""
        yield Attempt(f"--seed {seed} --store {kind}{more}", run.run, partial(getattr, run.world, "trace"))
        if arguments.dump:
            dump(run.world, arguments.dump)


def _opener(arguments: argparse.Namespace) -> Callable[[], Server] | None:
    if not arguments.server:
        return None
    return opener(arguments.server, dict(each.split("=", 1) for each in arguments.option))


def _hazards(arguments: argparse.Namespace) -> frozenset[Hazard]:
    if arguments.all:
        return ALL
    return COVERED | {Hazard[arguments.more]} if arguments.more else COVERED


def _crashes(arguments: argparse.Namespace) -> Iterator[Attempt]:
    opened = _opener(arguments)
    for case in CASES:
        if arguments.point and not any(each.startswith(f"{case.name}: ") for each in arguments.point):
            continue
        if arguments.case not in (None, case.name):
            continue
        # A disk moves a table in one step, and an object store in a hundred.
        kind: StoreKind = arguments.store or ("s3" if case.action in MOVES else "local")
        found = CrashPoints(case, kind, opened)
        points = [*(found.late_points() if arguments.late else found.points())]
        if arguments.point:
            points = [*found.points(), *found.late_points()]
        # Another one first in each case, so that few points of all cases are of every kind.
        first = zlib.crc32(case.name.encode()) % min(arguments.every, len(points) or 1)
        for point in points[first :: arguments.every]:
            if arguments.point:
                if str(point) not in arguments.point:
                    continue
            elif is_known_fault(point) and not arguments.all:
                continue
            replay = f"--point {str(point)!r} --store {kind}"
            yield Attempt(replay, partial(found.run, point), partial(getattr, found, "trace"))


if __name__ == "__main__":
    sys.exit(main())
