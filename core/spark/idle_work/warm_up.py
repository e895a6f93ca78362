"""Make the first queries fast: warm up Java right after the start.

The first run of a statement takes seconds, in which Java loads classes and compiles code. So common
statements run on a small table of the engine's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from paimark.core.spark.protocol import CANCELLED, Batch, Failed, Report, Run, Task

DATABASE = "warm_up"
_ROWS = 64
# The console's limit.
_CONSOLE_ROWS = 500
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us")),
    ]
)
# The most common ones first. Each uses code of Spark's that those before it don't.
STATEMENTS = (
    "SELECT * FROM warm_up.keyed VERSION AS OF 1",
    "SELECT * FROM warm_up.keyed WHERE id = 7",
    """SELECT name, count(*), sum(price), max(at) FROM warm_up.keyed WHERE price > 3
    GROUP BY name ORDER BY 2 DESC""",
    "SELECT count(*) FROM warm_up.keyed",
    "SELECT * FROM warm_up.keyed WHERE name LIKE 'n%' ORDER BY at",
    """SELECT new.id, old.price, new.price FROM warm_up.keyed AS new
    JOIN warm_up.keyed VERSION AS OF 1 AS old ON old.id = new.id WHERE old.price <> new.price""",
)


class RunsStatements(Protocol):
    """Runs statements on the warehouse of the warm-up. `cancel` returns at once; any thread may call it."""

    def run(self, order: Task, tell: Callable[[Report | Batch], None]) -> None: ...
    def cancel(self, number: int) -> None: ...


class WarmUp:
    """`begin` makes a runner for a warehouse at `place`."""

    def __init__(self, place: Path, begin: Callable[[], RunsStatements]) -> None:
        self._place = place
        self._begin = begin
        self._runner: RunsStatements | None = None

    def steps(self) -> Iterator[Callable[[], None]]:
        """The steps, to be done one after another."""
        # Each is short: a statement that comes waits for the end of the running one.
        yield partial(_create_table, self._place)
        for step in (1, 2):
            yield partial(_commit, self._place, step)
        yield self._set_up
        for sql in STATEMENTS:
            yield partial(self._run, sql)

    def interrupt(self) -> None:
        """Stop the running statement, if there is one. Returns at once; any thread may call this."""
        if self._runner is not None:
            self._runner.cancel(0)

    def _set_up(self) -> None:
        self._runner = self._begin()

    def _run(self, sql: str) -> None:
        if self._runner is not None:
            self._runner.run(Run(0, sql, limit=_CONSOLE_ROWS), _note)


def _note(report: Report | Batch) -> None:
    """Write a failure to the engine's log only."""
    if isinstance(report, Failed) and report != CANCELLED:
        print(f"warm-up: {report.message}", file=sys.stderr, flush=True)


def _create_table(place: Path) -> None:
    """Make a warehouse with the table `warm_up.keyed`."""
    # Nothing else in the engine needs all of pypaimon, which takes most of a second.
    from pypaimon import CatalogFactory, Schema

    catalog = CatalogFactory.create({"warehouse": str(place)})
    catalog.create_database(DATABASE, True)
    schema = Schema.from_pyarrow_schema(_COLUMNS, primary_keys=["id"], options={"bucket": "1"})
    catalog.create_table(f"{DATABASE}.keyed", schema, False)


def _commit(place: Path, step: int) -> None:
    """Make a snapshot; those of all steps have keys in common."""
    from pypaimon import CatalogFactory

    catalog = CatalogFactory.create({"warehouse": str(place)})
    builder = catalog.get_table(f"{DATABASE}.keyed").new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(_rows(step))
    committer.commit(writer.prepare_commit())
    writer.close()
    committer.close()


def _rows(step: int) -> pa.Table:
    ids = range(0, _ROWS, step)
    columns = {
        "id": ids,
        "name": [f"n{each % 5}" for each in ids],
        "price": [each * step / 4 for each in ids],
        "day": [20_000 + each for each in ids],
        "at": [each * 1_000_000 for each in ids],
    }
    return pa.table({name: list(values) for name, values in columns.items()}, schema=_COLUMNS)
