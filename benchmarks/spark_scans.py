"""Queries on Spark's own readers beside the stock Spark connector and others (P8, P8b).

`python -m benchmarks.spark_scans [--rows N] [--rounds R] [--tables T ...] [--questions Q ...] [--ways W ...]`
asks five questions to three tables that stock Paimon writes: appended; with a key, one big run and small
ones; with a key, and equal runs that all overlap. Rounds are interleaved, times are medians, CPU is that of
all processes, and rows are compared. `new` is the first query of a snapshot, `read before` a later one.

Some cells alone: `--tables big_run --questions point count --ways 'read before' new connector`. Other
ways are `library` (stock Paimon for Java with threads and no engine), `rust` (pypaimon-rust in process, P8b),
`pypaimon` (slow). `--keep PLACE` keeps the tables of each size for the next time.

Maven fetches the connector, or `--connector` and `--connector-pyspark` name another. If it is not available,
ratios are to the library, multiplied by its share of the connector's time where both were measured. It needs
a JDK and Maven.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring.asking import Rows, run
from benchmarks.measuring.cells import LIBRARY_BY_CONNECTOR, QUESTIONS, TABLES, report, report_beyond
from benchmarks.measuring.costs import Cost, Costs, timed
from benchmarks.measuring.java import MEMORY, flags, print_flags
from benchmarks.measuring.processes import java_below
from benchmarks.measuring.words import parser_of
from benchmarks.peers import connector
from benchmarks.peers.library import Library
from benchmarks.peers.process import SqlProcess
from benchmarks.peers.rust import Rust
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from tests.interop.stock import ToolMissing
from tests.paimon import open_table

OURS = ("read before", "new")
WAYS = (*OURS, "pypaimon", "rust", "library", "connector")
_SLOW = ("pypaimon",)
_SMALL_RUNS, _EQUAL_RUNS = 4, 4


class Asked(NamedTuple):
    table: str
    question: str
    sql: str
    key: int


class Sides(NamedTuple):
    """`others` are further peers that answer SQL, by the names of their ways."""

    engine: Engine
    library: Library
    others: dict[str, SqlProcess]
    warehouse: Path


def write_tables(library: Library, warehouse: Path, rows: int) -> None:
    small = max(rows // 100, 1)
    for table in TABLES:
        library.do("create", "bench", table, "plain" if table == "append" else "keyed")
    for part in range(4):
        library.do("write", "bench", "append", part * rows // 4, 1, rows // 4, "keep")
    library.do("write", "bench", "big_run", 0, 1, rows, "compact")
    for number in range(_SMALL_RUNS):
        # It writes a hundredth of the keys again, over the whole range.
        library.do("write", "bench", "big_run", number, rows // small, small, "keep")
    for number in range(_EQUAL_RUNS):
        library.do("write", "bench", "equal_runs", number, 2, rows // _EQUAL_RUNS, "keep")


def with_pypaimon(warehouse: Path, asked: Asked) -> None:
    builder = open_table(warehouse, f"bench.{asked.table}").new_read_builder()
    columns = {"aggregate": ["amount"], "count": ["id"], "group": ["region", "amount"]}.get(asked.question)
    if columns:
        builder = builder.with_projection(columns)
    if asked.question == "point":
        builder = builder.with_filter(builder.new_predicate_builder().equal("id", asked.key))
    if asked.question == "limit":
        builder = builder.with_limit(10)
    arrow = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    if asked.question == "group":
        arrow.group_by("region").aggregate([("amount", "sum")])
    if asked.question == "aggregate":
        arrow.group_by([]).aggregate([("amount", "sum")])


def _linked(file: str, to: str) -> None:
    """Files of other kinds are written again, hints of ids for example."""
    if "/bucket-" in file:
        os.link(file, to)
    else:
        shutil.copy2(file, to)


def new_copies(warehouse: Path, table: str) -> Generator[str]:
    """Yield the same table under names that were never read. Its data files are hard links, not copies."""
    number = 0
    while True:
        number += 1
        name = f"{table}_{number}"
        database = warehouse / "bench.db"
        shutil.rmtree(database / name, ignore_errors=True)
        shutil.copytree(database / table, database / name, copy_function=_linked)
        yield f"bench.{name}"
        shutil.rmtree(database / name)


def ways_of(
    sides: Sides, asked: Asked, fresh: str, answers: dict[str, Rows]
) -> dict[str, Callable[[], Cost]]:
    """By way, a function that asks the question; `fresh` asks an unread copy. `answers` gets the rows."""

    def keep(way: str, ask: Callable[[], Rows]) -> None:
        answers[way] = ask()

    def timed_rows(way: str, ask: Callable[[], Rows], pid: int | None = None) -> Callable[[], Cost]:
        return partial(timed, partial(keep, way, ask), pid)

    others = {
        way: timed_rows(way, partial(peer.rows, asked.sql), peer.pid) for way, peer in sides.others.items()
    }
    return {
        "read before": timed_rows("read before", partial(run, sides.engine, asked.sql)),
        "new": timed_rows("new", partial(run, sides.engine, fresh)),
        "library": partial(sides.library.cost, asked.question, "bench", asked.table, asked.key),
        "pypaimon": partial(timed, partial(with_pypaimon, sides.warehouse, asked)),
        **others,
    }


def require_equal(asked: Asked, answers: dict[str, Rows]) -> None:
    """End this program if two ways gave different rows; for a limit, any ten rows are right."""
    shown = {
        way: len(rows) if asked.question == "limit" else sorted(map(repr, rows))
        for way, rows in answers.items()
    }
    for way, rows in shown.items():
        if rows != shown["read before"]:
            raise SystemExit(f"{asked.sql}: {way} has {rows}, and read before {shown['read before']}")


def measure(sides: Sides, given: argparse.Namespace, wanted: Collection[str]) -> Costs:
    costs: Costs = defaultdict(list)
    for table in given.tables:
        with closing(new_copies(sides.warehouse, table)) as copies:
            for number, question in product(range(given.rounds + 1), given.questions):
                key = given.rows // 3 + number
                sql, fresh = (
                    QUESTIONS[question].format(table=name, key=key)
                    for name in (f"bench.{table}", next(copies))
                )
                asked = Asked(table, question, sql, key)
                answers: dict[str, Rows] = {}
                for way, work in ways_of(sides, asked, fresh, answers).items():
                    # The first round warms up; slow ways take part in fewer rounds.
                    if way in wanted and (way not in _SLOW or number < given.slow_rounds):
                        cost = work()
                        print(f"{table} {question} {way}: {cost.wall:.0f} ms", file=sys.stderr)
                        if number or way in _SLOW:
                            costs[table, question, way].append(cost)
                require_equal(asked, answers)
    return costs


def shared_arguments(described: str | None) -> argparse.ArgumentParser:
    words = parser_of(described)
    words.add_argument("--rows", type=int, default=3_000_000)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument(
        "--slow-rounds", type=int, default=1, help="of what Python reads alone; 0 leaves it out"
    )
    words.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    words.add_argument("--keep", type=Path, help="a directory for the tables, used again if it has them")
    connector.add_arguments(words)
    return words


def parser() -> argparse.ArgumentParser:
    words = shared_arguments(__doc__)
    words.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    words.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    return words


@contextmanager
def sides_of(
    given: argparse.Namespace,
    others: Collection[str],
    write: Callable[[Library, Path, int], None],
    *,
    read_only: bool = True,
) -> Iterator[Sides]:
    """All sides, with the tables written; of the `others`, those that are available."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        scratch = Path(place)
        warehouse = (given.keep or scratch) / f"rows-{given.rows}"
        library = stack.enter_context(closing(Library(scratch / "library", warehouse)))
        if not (warehouse / "written").exists():
            print("writing tables", file=sys.stderr)
            shutil.rmtree(warehouse, ignore_errors=True)
            write(library, warehouse, given.rows)
            (warehouse / "written").touch()
        peers = {way: peer for way in others if (peer := start_other(way, scratch / way, warehouse, given))}
        for peer in peers.values():
            stack.enter_context(closing(peer))
        settings = Settings(str(warehouse), read_only=read_only, spark_conf={"spark.driver.memory": MEMORY})
        engine = stack.enter_context(closing(Engine(settings, scratch / "log")))
        yield Sides(engine, library, peers, warehouse)


def start_other(way: str, workspace: Path, warehouse: Path, given: argparse.Namespace) -> SqlProcess | None:
    if way == "rust":
        return Rust(workspace, warehouse)
    try:
        return connector.Connector(workspace, warehouse, given.connector, given.connector_pyspark)
    except ToolMissing as missing:
        print(f"no stock connector: {missing}", file=sys.stderr)
        return None


def tell(sides: Sides, given: argparse.Namespace, costs: Costs) -> None:
    is_real = "connector" in sides.others
    base = "connector" if is_real else "library"
    ways = [way for way in given.ways if way in (*OURS, "pypaimon", "library") or way in sides.others]
    report(costs, given.tables, given.questions, ways, base, {} if is_real else LIBRARY_BY_CONNECTOR)
    if "rust" in sides.others:
        report_beyond(costs, given.tables, given.questions, [way for way in ways if way in OURS[:2]], "rust")
    peers = {"library": sides.library.pid}
    if is_real:
        peers["connector"] = java_below(sides.others["connector"].pid)
    assert sides.engine._process is not None
    own = flags(java_below(sides.engine._process.pid))
    for name, java in peers.items():
        print_flags(own, name, flags(java))


def main() -> None:
    given = parser().parse_args()
    others = [way for way in ("connector", "rust") if way in given.ways]
    with sides_of(given, others, write_tables) as sides:
        # Ratios need the peer, whatever ways were chosen.
        wanted = {*given.ways, *(sides.others.keys() & {"connector"} or {"library"})}
        tell(sides, given, measure(sides, given, wanted))


if __name__ == "__main__":
    main()
