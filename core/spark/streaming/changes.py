"""Plan and read the rows of a micro-batch, by pypaimon.

The changes of a commit are in its delta, or in its changelog if the table has a changelog producer. Commits
of the kinds OVERWRITE and COMPACT are skipped, as in Paimon: they rewrite rows, and do not change them.
Without `read.changelog` the rows of a table with keys are upserts: the newest row of each key in the batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from typing import Any, Literal

import pyarrow as pa
from msgspec.structs import replace
from pypaimon.common.json_util import JSON
from pypaimon.read.scanner.file_scanner import FileScanner
from pypaimon.snapshot.snapshot import Snapshot as PaimonSnapshot

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import (
    look_for_deletes,
    open_table,
    plan_splits,
    read_splits,
    require_readable,
)
from paimark.core.spark.datasource.reader import grouped
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.streaming.consumers import changelog_producer, tells_changes_later
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import MERGE_ENGINES, is_on, merge_engine
from paimark.core.table.manifests.files import delta_entries
from paimark.core.table.records import Snapshot

KIND_COLUMN = "_row_kind"
_UPDATE_BEFORE, _DELETE = "-U", "-D"
# Plain rows; upserts, which may hide a delete; changes, each with its kind.
RowForm = Literal["plain", "upserts", "changes"]


class MicroBatch:
    """The rows of a micro-batch: the whole state at `whole`, if there is one, and the commits after it.

    For a table without keys the whole state is read without the files `without`.
    """

    def __init__(
        self,
        files: Files,
        scan: Scan,
        whole: Snapshot | None,
        later: Sequence[Snapshot],
        with_kinds: bool,
        without: Collection[str] = (),
    ) -> None:
        self._files = files
        self._scan = scan
        self._whole = whole
        self._schema = scan.table_schema
        self._has_changelog = changelog_producer(self._schema) != "none"
        self._with_kinds = with_kinds
        self._without = without
        self._later = [each for each in later if self._counts(each)]

    def splits(self) -> tuple[list[Any], RowForm]:
        """The splits to read, always in the same order, and the form of their rows."""
        if not self._schema.primary_keys:
            added = (split for each in self._later for split in self._splits_added_by(each))
            return [*self._whole_splits(), *added], "plain"
        if not self._has_changelog:
            self._require_whole_rows()
        if not self._has_changelog and not self._with_kinds:
            self._require_upserts()
            # Python writers do not record the number of deletes in a file.
            uncounted = self._whole is None and "rowkind.field" in self._schema.options
            return self._merged(), "upserts" if uncounted else "plain"
        changed = (split for each in self._later for split in self._in_order(self._splits_added_by(each)))
        return [*self._whole_splits(), *changed], "changes"

    def _counts(self, snapshot: Snapshot) -> bool:
        if self._has_changelog:
            return bool(snapshot.changelog_manifest_list)
        if snapshot.commit_kind == "OVERWRITE" and not self._schema.primary_keys:
            return is_on(self._schema.options, "streaming-read-append-overwrite")
        return snapshot.commit_kind == "APPEND"

    def _whole_splits(self) -> list[Any]:
        if self._whole is None:
            return []
        splits = plan_splits(_at(self._scan, self._whole))
        if not self._without:
            return splits
        newer = (split.filter_file(lambda file: file.file_name not in self._without) for split in splits)
        return [split for split in newer if split is not None]

    def _splits_added_by(self, snapshot: Snapshot) -> list[Any]:
        """The splits of the files that a commit added."""
        return self._scanned([(snapshot, False)], snapshot, is_streaming=True)

    def _merged(self) -> list[Any]:
        """Splits in which each key has one row."""
        parts = [(each, False) for each in self._later]
        if self._whole is not None:
            parts.insert(0, (self._whole, True))
        if not parts:
            return []
        splits = self._scanned(parts, self._whole or parts[-1][0], is_streaming=False)
        look_for_deletes(self._scan, splits)
        return splits

    def _scanned(
        self, parts: Sequence[tuple[Snapshot, bool]], state: Snapshot, *, is_streaming: bool
    ) -> list[Any]:
        """`state` is the snapshot whose deletion vectors apply."""
        table = open_table(self._scan)
        scanner: FileScanner

        def manifests() -> tuple[list[Any], Any]:
            lists = scanner.manifest_list_manager
            metas: list[Any] = []
            for each, is_whole in parts:
                snapshot = _paimon_snapshot(each)
                if is_whole:
                    metas += lists.read_all(snapshot)
                elif self._has_changelog:
                    metas += lists.read_changelog(snapshot)
                else:
                    metas += lists.read_delta(snapshot)
            return metas, _paimon_snapshot(state)

        # An overwrite's delta also has removed files, which a streaming scan refuses.
        takes_out = state.commit_kind == "OVERWRITE"
        scanner = FileScanner(table, manifests, is_streaming=is_streaming and not takes_out)
        splits: list[Any] = scanner.scan().splits()
        require_readable(self._scan, splits)
        return splits

    def _in_order(self, splits: list[Any]) -> list[Any]:
        """Put the files of each split in the order in which they were written."""
        for split in splits:
            split.files.sort(key=lambda file: file.min_sequence_number)
        return splits

    def _require_whole_rows(self) -> None:
        """Raises `Refused` if a row that a commit adds is not the full row of its key."""
        name, engine = self._scan.name, merge_engine(self._schema.options)
        # Another than the default makes a row from several: a commit adds only a part of it.
        if engine in MERGE_ENGINES[1:]:
            raise Refused(
                f"{name} has the merge engine {engine}: what a commit adds is not the row it makes",
                "Set the table's changelog-producer to lookup or full-compaction.",
            )

    def _require_upserts(self) -> None:
        """Raises `Refused` if commits delete rows."""
        if self._whole is None:
            for snapshot in self._later:
                if self._deletes(snapshot):
                    raise _no_upsert(f"Snapshot {snapshot.id} of {self._scan.name} deletes rows")

    def _deletes(self, snapshot: Snapshot) -> bool:
        entries = delta_entries(self._files, self._scan.root.table, snapshot)
        return any(entry.is_added and entry.file.get("_DELETE_ROW_COUNT") for entry in entries)


def tasks(splits: Sequence[Any], rows: RowForm) -> list[list[Any]]:
    """The splits for each task, in reading order: one task reads all changes of a bucket."""
    if rows != "changes":
        return grouped(splits)
    buckets: dict[tuple[object, ...], list[Any]] = {}
    for split in splits:
        buckets.setdefault((tuple(split.partition.values), split.bucket), []).append(split)
    return list(buckets.values())


def in_pieces(scan: Scan) -> Scan:
    """The same scan in the smallest splits to be read alone: see `paimark.core.spark.streaming.limits`."""
    schema = scan.table_schema
    options = schema.options | {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    return replace(scan, schema=replace(schema, options=options).to_json().decode())


def require_streamable(scan: Scan, *, begins_whole: bool) -> None:
    """Raises `Refused` for a table whose changes can't be derived from its commits."""
    schema = scan.table_schema
    name = scan.name
    if is_on(schema.options, "data-evolution.enabled"):
        raise Refused(f"{name} has data-evolution.enabled: its commits write parts of rows")
    if is_on(schema.options, "streaming-read-overwrite"):
        raise Refused(
            f"{name} has streaming-read-overwrite: the rows that an overwrite removes are unknown here"
        )
    if not schema.primary_keys:
        return
    if schema.options.get("bucket") == "-2":
        raise Refused(f"{name} has bucket = -2: rows can be read only once they are compacted")
    producer = changelog_producer(schema)
    if begins_whole and tells_changes_later(schema):
        raise Refused(
            f"{name} has the changelog-producer {producer}: its whole state holds rows whose changes are "
            "told later",
            "Begin with scan.mode latest, from-snapshot or from-timestamp.",
        )


def read_task(scan: Scan, splits: list[Any], rows: RowForm, with_kinds: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a task. Without `with_kinds`, which adds `_row_kind`, a delete raises `Refused`."""
    if rows == "changes":
        for batch in _changes(scan, splits, None):
            yield batch if with_kinds else _upserts(batch, scan)
        return
    if rows == "upserts":
        key = scan.table_schema.primary_keys[0]
        uncounted = [copy(split) for split in splits]
        for split in uncounted:
            split.is_streaming = True
        for batch in _changes(scan, uncounted, key):
            _upserts(batch, scan)
    for batch in read_splits(scan, splits):
        yield _inserts(batch) if with_kinds else batch


def _changes(scan: Scan, splits: list[Any], column: str | None) -> Iterator[pa.RecordBatch]:
    """The changes in the files, row by row, with their kinds; one column, or all if it is None."""
    builder = open_table(scan).new_stream_read_builder().with_include_row_kind(True)
    if column is not None:
        builder = builder.with_projection([column])
    yield from builder.new_read().to_arrow_batch_reader(splits)


def _upserts(batch: pa.RecordBatch, scan: Scan) -> pa.RecordBatch:
    kinds = batch.column(KIND_COLUMN).to_pylist()
    if _DELETE in kinds:
        raise _no_upsert(f"Rows of {scan.name} were deleted")
    return batch.filter(pa.array([kind != _UPDATE_BEFORE for kind in kinds]))


def _no_upsert(what: str) -> Refused:
    return Refused(
        f"{what}, which an upsert can't express",
        f"The option read.changelog=true adds a column {KIND_COLUMN} that does.",
    )


def _inserts(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(KIND_COLUMN, pa.array(["+I"] * batch.num_rows, pa.string()))


def _at(scan: Scan, snapshot: Snapshot) -> Scan:
    """A scan of the whole state at a snapshot."""
    return replace(scan, snapshot=snapshot.to_json().decode(), columns=None)


def _paimon_snapshot(snapshot: Snapshot) -> Any:
    return JSON.from_json(snapshot.to_json().decode(), PaimonSnapshot)
