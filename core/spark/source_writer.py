"""The writing half of the data source `paimark`: the rows of a write, or of a micro-batch, are one commit.

    rows.write.format("paimark").mode("append").option("warehouse", uri).option("table", "db.t").save()

Options: `warehouse`, `table`, and optionally `branch`; all others are catalog options. Without a branch the
rows go to the root that is main. Mode `overwrite` replaces the whole table; with the option
`partitionOverwriteMode` = `dynamic` only the partitions that rows come for. Columns are matched by name. If
the table has the option `rowkind.field`, that column tells which rows delete (`-D`). A stream has options of
its own: `paimark.core.spark.streaming.batch_commit`.

Paimon's library in Java writes the rows. `PythonHalf.java` asks twice in Python, each time in a process that
Spark starts: what to write to, and for the commit. So do the statements of `LakeCatalog.java`, of which some
change rows: then the visit is asked for a `change`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from msgspec import structs
from pyspark.sql.datasource import DataSourceWriter, WriterCommitMessage

from paimark.core.errors import Refused, hints_in_messages
from paimark.core.spark.datasource.options import DOOR
from paimark.core.spark.library.java_gateway import Visit
from paimark.core.spark.streaming.batch_commit import StreamBatch, commit_batch
from paimark.core.spark.writing.target import WriteTarget, find_target, require_changeable
from paimark.core.storage.open import open_files
from paimark.core.table.definition.row_changes import ACTIONS
from paimark.core.table.manifests.files import require_seen
from paimark.core.table.records import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Row

# What `LakeTarget.java` asks for: which statement changes rows, whether an overwrite replaces some partitions
# only, and the snapshot that it replaces, as its file has it; empty for none.
CHANGE, PARTITIONS, STATE = "change", "partitions", "state"


class PaimarkWriter(DataSourceWriter):
    """It is made where the write is planned, and sent to the process that commits."""

    def __init__(self, door: str, target: WriteTarget, batch: StreamBatch | None, *, changes: bool) -> None:
        self._door = door
        self._target = target
        self._batch = batch
        self._changes = changes

    def write(self, iterator: Iterator[Row]) -> NoReturn:
        raise AssertionError("Java writes the rows")

    @hints_in_messages()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        visit = Visit(self._door)
        writes, written = visit.writes(self._target), visit.written
        if self._batch is not None:
            commit_batch(writes, self._target, self._batch, written)
        elif self._changes:
            writes.finish_change(self._target, written)
        else:
            writes.finish(self._target, written)


def writer(options: Mapping[str, str], overwrite: bool) -> PaimarkWriter:
    """Begin the write that the options name. Raises `Refused` without Java's half of it, or by its kind."""
    door = options.get(DOOR)
    if door is None:
        raise no_jar()
    batch = StreamBatch.of(options)
    target = find_target(options, overwrite)
    visit = Visit(door)
    command, state = visit.asked(CHANGE), visit.asked(STATE)
    if batch is not None:
        target = batch.target(target)
    if command is not None:
        visit.require_readable(target.scan)
        target = _changing(target, command)
    if state is not None:
        target = structs.replace(target, head=state)
    writes = visit.writes(target)
    if command is None:
        visit.begin_write(writes.begun(target, is_partial=visit.asked(PARTITIONS) is not None))
    else:
        visit.begin_write(writes.begun_change(target))
    return PaimarkWriter(door, target, batch, changes=command is not None)


def _changing(target: WriteTarget, command: str) -> WriteTarget:
    """For a statement that changes rows of the newest snapshot. Raises `Refused` by the table's kind."""
    require_changeable(target, command)
    root, operation = target.root, ACTIONS[command]
    if not target.known:
        return structs.replace(target, head="", operation=operation)
    files, path = open_files(target.warehouse, target.options), root.snapshot(target.known)
    head = files.read(path)
    require_seen(files, root.table, target.table_schema, Snapshot.from_json(head, path))
    return structs.replace(target, head=head.decode(), may_go_on=True, operation=operation)


def no_jar() -> Refused:
    return Refused(
        "Rows are written by Paimon's own library, and this Spark has not got it from Paimark",
        "Start Spark with the settings that paimark.open(warehouse).spark_settings() gives, or those that "
        "`paimark jars catalog lake` prints.",
    )
