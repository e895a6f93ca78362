"""The streaming half of the Python Data Source `paimark`, reading: `spark.readStream.format("paimark")`.

    spark.dataSource.register(PaimarkSource)
    rows = (
        spark.readStream.format("paimark").option("warehouse", uri).option("table", "db.t")
        .option("scan.mode", "from-snapshot-full").option("scan.snapshot-id", "savepoint.3").load()
    )

Options besides those of `paimark.core.spark.source`:

- `scan.mode`: `latest-full` (the whole table, then changes; default), `latest` (changes from now on),
  `from-snapshot` (changes, those of that snapshot first), `from-snapshot-full` (the whole table at that
  snapshot, then changes), `from-timestamp` (changes of that time and later).
- `scan.snapshot-id`: `snapshot.<id>`, `savepoint.<id>`, a tag or a number; `scan.timestamp`, where a time
  without a zone is local, or `scan.timestamp-millis`. If the start has expired, the stream begins with the
  whole state of its savepoint; for a time, with that of the closest savepoint at or before it. Snapshots
  after it that have expired are an error.
- `scan.gap`: `stop` (default), or `earliest`: if the next snapshots have expired, the stream continues with
  the earliest one left, and tells what is missing: see `paimark.core.spark.streaming.pieces`. An expired
  start is then replaced by the savepoint or tag before it, else by the earliest state that is left.
- `scan.bounded`: `latest`: a run reads up to the snapshot that is the newest when it begins, and no further.
  Spark 4.2 and later do so anyway with `trigger(availableNow=True)`, in several batches if needed. With it
  Spark 4.1 runs only one batch of a Python source, however small: call `query.processAllAvailable()`, then
  `query.stop()`, to read all.
- `consumer-id`: the table keeps the stream's position under this name, and no expiry, stock or ours, deletes
  the next snapshots: see `paimark.core.spark.streaming.consumers`. A query without a checkpoint continues
  from there, and may read the last batch again; with `consumer.ignore-progress` it begins anew.
- `branch`: without it the stream reads main. If main is replaced, the stream stops and names both roots, or
  with `follow-main` = `fork` continues in the new main after their fork.
- `maxSnapshotsPerTrigger`: the most snapshots in a micro-batch.
- `read.stream.maxFilesPerTrigger`, `read.stream.maxBytesPerTrigger`, `read.stream.maxRowsPerTrigger`: the
  most data files, bytes and rows in a micro-batch, also of the whole state: see
  `paimark.core.spark.streaming.limits`. With `read.stream.minRowsPerTrigger` a batch waits for so many rows,
  at most `read.stream.maxTriggerDelayMs` after the one before.
- `read.changelog`: a column `_row_kind` (`+I`, `-U`, `+U`, `-D`) before the others; changes of a key keep
  their order. Without it the rows of a table with keys are upserts, and a delete is an error.

The columns are those of the table when the query starts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import structs
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from paimark.core.errors import NotFound, Refused, hints_in_messages
from paimark.core.spark.datasource.options import READ_STREAM, catalog_options, require_allowed
from paimark.core.spark.datasource.requested_state import read_scope
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.streaming.consumers import ConsumerPosition
from paimark.core.spark.streaming.limits import Size, read_options
from paimark.core.spark.streaming.next_changes import Expired, in_new_main, main_moved, next_end
from paimark.core.spark.streaming.offsets import NOTHING_READ, Offset, StreamPosition, read_offset
from paimark.core.spark.streaming.pieces import PlannedPieces, describe_gap, over_gap
from paimark.core.spark.streaming.start import Start, start_position
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import MAIN, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root

if TYPE_CHECKING:
    import pyarrow as pa

    from paimark.core.spark.streaming.changes import RowForm

_log = logging.getLogger("paimark")
KIND_FIELD = StructField("_row_kind", StringType())


class StreamPart(InputPartition):
    """The part of a micro-batch for one task."""

    def __init__(self, scan: str, splits: list[Any], rows: RowForm) -> None:
        self.scan = scan
        self.splits = splits
        self.rows = rows


class PaimarkStreamReader(DataSourceStreamReader):
    """Its state is only Spark's progress: `latestOffset` may be called any number of times."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._store_options = catalog_options(options)
        require_allowed(options, READ_STREAM)
        self._options = dict(options)
        self._schema = schema
        self._read_options = read_options(options)
        self._last_offset: dict[str, Any] = NOTHING_READ
        self._pieces = PlannedPieces(self._read_options.with_kinds)
        self._consumer = ConsumerPosition(self._read_options.consumer)
        # The last snapshot of this run by branch; None if the run has no end.
        self._ends: dict[str | None, int] | None = {} if self._read_options.is_bounded else None
        # When the tasks of the last batch were planned, by the monotonic clock of this process.
        self._planned: float | None = None

    def initialOffset(self) -> dict[str, Any]:
        return NOTHING_READ

    @hints_in_messages()
    def prepareForTriggerAvailableNow(self) -> None:
        """Called by Spark 4.2 and later: a run of `availableNow` begins. It ends at the present snapshot."""
        files = self._warehouse().files
        self._ends = {}
        self._bound(files, self._root(files))

    @hints_in_messages()
    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        """Spark 4.1 passes no `start`: `partitions` gets it. The options limit a batch, not `limit`."""
        if start is not None:
            self._last_offset = start
        return self._latest()

    def _latest(self) -> dict[str, Any]:
        warehouse = self._warehouse()
        files = warehouse.files
        root = self._root(files)
        last_offset = read_offset(self._last_offset)
        if last_offset is not None:
            start, gap = self._continue_from(warehouse, root, last_offset), None
        elif (begin := self._start(files, root)) is not None:
            start, gap = begin
            self._require_streamable(warehouse, root, start)
        else:
            return NOTHING_READ
        try:
            end = self._end(warehouse, root, start)
        except Expired as expired:
            if not self._read_options.goes_over_gaps:
                raise
            start, gap = over_gap(files, self._scan(warehouse, root), start, expired)
            end = self._end(warehouse, root, start)
        self._consumer.hold(files, root, start, is_new=last_offset is None)
        if end is None and last_offset is not None and start == last_offset.position:
            return self._last_offset
        end = end or Offset(start.branch, start.snapshot, start.uuid)
        if last_offset is None or start != last_offset.position:
            left = last_offset.position if last_offset else None
            end = structs.replace(end, start=start, left=left, gap=gap)
        return end.to_dict()

    @hints_in_messages()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._last_offset = end
        last = read_offset(end)
        if start == end or last is None:
            return []
        warehouse = self._warehouse()
        root = find_table(warehouse.files, self._options["table"]).root(last.branch)
        first = _first(read_offset(start), last, root)
        self._planned = monotonic()
        if last.gap is not None:
            _log.warning("%s.", describe_gap(last.gap, root.table.full_name))
        scan = self._scan(warehouse, root)
        splits, rows = self._pieces.splits(warehouse.files, scan, first, last)
        from paimark.core.spark.streaming.changes import tasks

        text = scan.to_text()
        return [StreamPart(text, task, rows) for task in tasks(splits, rows)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from paimark.core.spark.arrow import fit_batch
        from paimark.core.spark.streaming.changes import read_task

        if not isinstance(partition, StreamPart):
            return
        scan, schema = Scan.from_text(partition.scan), to_arrow_schema(self._schema)
        with hints_in_messages():
            for batch in read_task(scan, partition.splits, partition.rows, self._read_options.with_kinds):
                yield fit_batch(batch, schema)

    @hints_in_messages()
    def commit(self, end: dict[str, Any]) -> None:
        self._last_offset = end
        if (last := read_offset(end)) is not None:
            files = self._warehouse().files
            root = find_table(files, self._options["table"]).root(last.branch)
            self._consumer.advance(files, root, last.position)

    def _start(self, files: Files, root: Root) -> Start | None:
        recorded = None if self._read_options.ignores_progress else self._consumer.position(files, root)
        if recorded is not None:
            return Start(recorded)
        return start_position(files, root, self._read_options, self._bound(files, root))

    def _end(self, warehouse: WarehouseAccess, root: Root, start: StreamPosition) -> Offset | None:
        """The end of the next batch; None if there is none, or not yet. Raises `Expired`."""
        options, files = self._read_options, warehouse.files
        until = self._bound(files, root)
        end = next_end(files, root, start, options.most, up_to_gap=options.goes_over_gaps, until=until)
        if end is None or not (options.limits or start.pieces):
            return end
        end, size = self._pieces.end(files, self._scan(warehouse, root), start, end, options.limits)
        return None if size is not None and self._waits_for_more(size) else end

    def _waits_for_more(self, size: Size) -> bool:
        """Whether to wait for more rows. The first batch of a run never waits, nor a run that has an end."""
        limits = self._read_options.limits
        if (
            self._ends is not None
            or self._planned is None
            or limits.least_rows is None
            or limits.wait_ms is None
        ):
            return False
        return size.rows < limits.least_rows and (monotonic() - self._planned) * 1000 < limits.wait_ms

    def _bound(self, files: Files, root: Root) -> int | None:
        """The last snapshot of a root that this run reads: the newest at its begin; None without an end."""
        if self._ends is not None and root.branch not in self._ends:
            self._ends[root.branch] = Lineage(files, root).latest_id() or 0
        return None if self._ends is None else self._ends[root.branch]

    def _root(self, files: Files) -> Root:
        return branch_root(files, find_table(files, self._options["table"]), self._options.get("branch"))

    def _warehouse(self) -> WarehouseAccess:
        uri, options = self._options["warehouse"], self._store_options
        return WarehouseAccess(open_files(uri, options), uri, options)

    def _continue_from(self, warehouse: WarehouseAccess, root: Root, last_offset: Offset) -> StreamPosition:
        """The position to continue from. Raises `Refused` if main was replaced, unless the stream follows."""
        if last_offset.branch == root.branch:
            return last_offset.position
        if self._options.get("branch", MAIN) != MAIN:
            raise Refused(
                f"The checkpoint is of {last_offset.position.root(root.table).label} of "
                f"{root.table.full_name}, and the option branch names {root.branch}",
                "Give each query a checkpoint of its own.",
            )
        if not self._read_options.follows_main:
            raise main_moved(root.table, last_offset.position, root)
        return in_new_main(warehouse.files, root, last_offset.position)

    def _require_streamable(self, warehouse: WarehouseAccess, root: Root, start: StreamPosition) -> None:
        from paimark.core.spark.streaming.changes import require_streamable

        require_streamable(self._scan(warehouse, root), begins_whole=start.is_full)

    def _scan(self, warehouse: WarehouseAccess, root: Root) -> Scan:
        """A scan by the root's newest schema. Raises `Refused` if that lacks columns of the query."""
        from paimark.core.spark.datasource.types import spark_columns

        # The table's own options for the start apply if the query has none.
        scan = make_scan(warehouse, root, None, pinned=False, scope=read_scope(self._options))
        now = {field.name: field.dataType for field in spark_columns(scan)}
        for field in self._schema:
            if field == KIND_FIELD and self._read_options.with_kinds:
                continue
            if now.get(field.name) != field.dataType:
                raise Refused(
                    f"Column {field.name} of {root.table.full_name} is not what it was when this query "
                    "started",
                    "Start the query again, on the same checkpoint: it goes on with the columns there are.",
                )
        return scan


try:
    from pyspark.sql.streaming.datasource import (  # type: ignore[import-not-found]
        SupportsTriggerAvailableNow,
    )
except ImportError:
    # Spark 4.1.
    pass
else:
    SupportsTriggerAvailableNow.register(PaimarkStreamReader)


def _first(start: Offset | None, end: Offset, root: Root) -> StreamPosition:
    """The begin of a batch. Raises `NotFound` if it is unknown, `Refused` if it is after the end."""
    first = end.start
    if start is not None and (first is None or end.left != start.position):
        first = start.position if start.branch == end.branch else None
    if first is None:
        raise NotFound(
            f"The checkpoint does not say where this stream of {root.table.full_name} goes on",
            "Begin anew with another checkpoint.",
        )
    if first.snapshot > end.snapshot:
        raise Refused(
            f"This stream of {root.table.full_name} has read up to snapshot {first.snapshot}, and is to go "
            f"on up to {end.snapshot}",
            "With maxSnapshotsPerTrigger leave spark.sql.streaming.triggerAvailableNowWrapper.enabled off.",
        )
    return first
