"""Make the first queries fast: warm up Java right after the start, and prefetch the table under the cursor.

The first run of a statement takes seconds, in which Java loads classes and compiles code. So common
statements run on a small table of the engine's own. A prefetch reads a table's metadata, and makes its merge
bits and its data frame.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

from paimark.core.cancelling import check_cancelled
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess
from paimark.core.spark.idle_work.scheduler import (
    MOST_FILES,
    MOST_KEY_BYTES,
    MOST_MANIFEST_BYTES,
    MOST_MANIFEST_BYTES_ELSEWHERE,
)
from paimark.core.spark.launch.session_settings import DEFAULTS, REUSE, WARM_UP
from paimark.core.spark.native.bitmap import merge_bits, uncached_bytes
from paimark.core.spark.native.scans import NativeScans
from paimark.core.spark.native.state import TableState
from paimark.core.spark.protocol import CANCELLED, Batch, Failed, Report, Run, Task
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.settings import store_of
from paimark.core.table.manifests.files import data_manifests
from paimark.core.table.records import Snapshot

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
    """`begin` makes a runner for a warehouse at `place`; None if no statements are to run.

    `start_workers` reads a table without rows by Python workers.
    """

    def __init__(
        self, place: Path, begin: Callable[[], RunsStatements] | None, start_workers: Callable[[], None]
    ) -> None:
        self._place = place
        self._begin = begin
        self._start_workers = start_workers
        self._runner: RunsStatements | None = None

    def steps(self) -> Iterator[Callable[[], None]]:
        """The steps, to be done one after another."""
        if self._begin is not None:
            # Each is short: a statement that comes waits for the end of the running one.
            yield partial(_create_table, self._place)
            for step in (1, 2):
                yield partial(_commit, self._place, step)
            yield partial(self._set_up, self._begin)
            for sql in STATEMENTS:
                yield partial(self._run, sql)
        yield self._start_workers

    def interrupt(self) -> None:
        """Stop the running statement, if there is one. Returns at once; any thread may call this."""
        if self._runner is not None:
            self._runner.cancel(0)

    def _set_up(self, begin: Callable[[], RunsStatements]) -> None:
        self._runner = begin()

    def _run(self, sql: str) -> None:
        if self._runner is not None:
            self._runner.run(Run(0, sql, limit=_CONSOLE_ROWS), _note)


def _note(report: Report | Batch) -> None:
    """Write a failure to the engine's log only."""
    if isinstance(report, Failed) and report != CANCELLED:
        print(f"warm-up: {report.message}", file=sys.stderr, flush=True)


def _create_table(place: Path) -> None:
    """Make a warehouse with the table `warm_up.keyed`."""
    catalog = CatalogFactory.create({"warehouse": str(place)})
    catalog.create_database(DATABASE, True)
    schema = Schema.from_pyarrow_schema(_COLUMNS, primary_keys=["id"], options={"bucket": "1"})
    catalog.create_table(f"{DATABASE}.keyed", schema, False)


def _commit(place: Path, step: int) -> None:
    """Make a snapshot; those of all steps have keys in common."""
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


@dataclass(frozen=True, slots=True)
class Prefetcher:
    conf: SessionConf
    warehouse: WarehouseAccess
    natives: NativeScans

    @property
    def is_wanted(self) -> bool:
        """Whether the session's settings allow it."""
        return all(self.conf.get(name, DEFAULTS[name]) != "off" for name in (WARM_UP, REUSE))

    def prefetch(self, scan: Scan) -> None:
        """Prefetch within bounds; in a remote store only the metadata. Raises the errors of a query."""
        if not scan.snapshot or not self._is_light(scan):
            return
        state = self.natives.state(scan.root, scan)
        if len(state.files) > MOST_FILES or not all(map(_is_here, _stores(state))):
            return
        check_cancelled()
        groups = state.merged
        if uncached_bytes(groups) > MOST_KEY_BYTES:
            return
        for group in groups:
            # One at a time, so that finished groups stay cached if a later one is interrupted.
            merge_bits(self.conf, self.warehouse.client_options, [group])
            check_cancelled()
        self.natives.frame(self.natives.open(scan.root, scan), None)

    def _is_light(self, scan: Scan) -> bool:
        """Whether its metadata are small enough to prefetch."""
        files, root = self.warehouse.files, scan.root
        snapshot = Snapshot.from_json(scan.snapshot.encode(), root.snapshots)
        most = MOST_MANIFEST_BYTES if _is_here(files.uri) else MOST_MANIFEST_BYTES_ELSEWHERE
        return sum(each.file_size for each in data_manifests(files, root.table, snapshot)) <= most


def _stores(state: TableState) -> list[str]:
    """One address in each store that has files of the table."""
    return list({store_of(file.address): file.address for file in state.files}.values())


def _is_here(address: str) -> bool:
    return store_of(address).kind == "file"
