"""An overwrite of some partitions, committed beside what others committed while its rows were written.

The rows were made from one snapshot, and replace the files of that snapshot, never later ones. What came
since stays if it lies in other partitions, or if its rows have other keys than those that the overwrite
changes. For a key that the overwrite only copies the later row wins, as it did before: all rows of the
overwrite have the lowest sequence number. So the table gets the rows that it would get if the overwrite began
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc
from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot as PaimonSnapshot
from pypaimon.table.bucket_mode import BucketMode
from pypaimon.utils.file_store_path_factory import canonical_data_file_path
from pypaimon.write.commit.overwrite_changes_provider import OverwriteChangesProvider

from paimark.core.errors import Refused
from paimark.core.spark.writing.target import WriteTarget, has_moved
from paimark.core.table.definition.column_types import ColumnType

# The sequence number of all rows of the overwrite. Numbers order rows of one key, and here each key has one.
_LOWEST = 0
# Types whose values are equal in the table if and only if they are equal in Arrow.
_COMPARABLE = ("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "VARCHAR", "STRING", "DATE")
_READERS = {".parquet": pq.read_table, ".orc": orc.read_table}
# A later file of more bytes is not read: a job that commits all the time writes small ones.
_MOST_BYTES = 32 << 20


class LowestNumber:
    """In place of pypaimon's generator of sequence numbers."""

    start = current = _LOWEST

    def next(self) -> int:
        return _LOWEST


class BesideLaterCommits(OverwriteChangesProvider):  # type: ignore[misc]  # pypaimon has no types
    """The changes of an overwrite, at each try to commit it: it deletes the target head's files only."""

    def __init__(self, target: WriteTarget, *args: Any) -> None:
        super().__init__(*args)
        assert target.head
        self._target = target
        self._head = JSON.from_json(target.head, PaimonSnapshot)
        self._replaced: frozenset[str] | None = None
        self._stays: set[tuple[str, int]] = set()

    def provide(self, latest_snapshot: Any) -> list[Any]:
        """Raises `Refused` if what came since can't stay."""
        if latest_snapshot is None or latest_snapshot.id < self._head.id:
            raise self._moved(latest_snapshot)
        if self._replaced is None:
            self._read(self._head)
            self._replaced = frozenset(each.file.file_name for each in self._cached_entries)
        if not self._is_there(self._cached_snapshot):
            # The table was rolled back since, and then others committed; or the snapshot expired.
            self._read(latest_snapshot)
        entries: list[Any] = super().provide(latest_snapshot)
        live = {(each.file.file_name, each.file.level): each for each in self._cached_entries}
        later = {
            key: each for key, each in live.items() if key[0] not in self._replaced and key not in self._stays
        }
        # A compaction or another overwrite may have taken files that the rows were made from.
        is_whole = self._replaced <= {name for name, _ in live}
        if not is_whole or (later and not self._may_stay(list(later.values()))):
            raise self._moved(latest_snapshot)
        self._stays |= later.keys()
        return [each for each in entries if each.kind == 0 or each.file.file_name in self._replaced]

    def _read(self, snapshot: Any) -> None:
        self._cached_entries = self._full_scan_manifest_entries(snapshot)
        self._cached_snapshot = snapshot

    def _is_there(self, snapshot: Any) -> bool:
        there = self.snapshot_manager.get_snapshot_by_id(snapshot.id)
        return there is not None and there.delta_manifest_list == snapshot.delta_manifest_list

    def _moved(self, latest: Any) -> Refused:
        return has_moved(self._target, self._head.id, None if latest is None else latest.id)

    def _may_stay(self, later: Sequence[Any]) -> bool:
        """Whether these files of replaced partitions only have rows of other keys than the changed ones."""
        path = Path(self._target.changed or "")
        if self._is_by_partitions or not path.is_file():
            return False
        highest = max(
            (file.max_sequence_number for each in self.commit_messages for file in each.new_files), default=-1
        )
        for each in later:
            file = each.file
            if (
                # Rows of the overwrite would count as newer than those of a level above its own. And files of
                # a compaction lack deletes: what they deleted would come back with the overwrite.
                file.level != 0
                or file.min_sequence_number <= highest
                # An older definition may have other names for the columns.
                or file.schema_id != self.table.table_schema.id
                or file.file_size > _MOST_BYTES
                or Path(file.file_name).suffix not in _READERS
            ):
                return False
        with pa.ipc.open_file(path) as changed:
            keys = changed.read_all().select(self._comparable)
        return not any(_have_common_row(keys, self._keys(each).cast(keys.schema)) for each in later)

    @property
    def _is_by_partitions(self) -> bool:
        """Whether rows of a replaced partition can't be told from each other by their keys.

        Deletes are not copied, and with `sequence.field` a delete may be newer than a later row. Buckets of a
        growing table are given to keys anew by the overwrite.
        """
        return self.table.bucket_mode() != BucketMode.HASH_FIXED or bool(self.table.options.sequence_field())

    @property
    def _comparable(self) -> list[str]:
        """The key columns to compare. Rows that differ in others only are taken for the same key."""
        keys, fields = self.table.primary_keys, self._target.table_schema.fields
        kinds = {each.name: ColumnType.of(str(each.type)).name for each in fields}
        return [name for name in keys if kinds[name] in _COMPARABLE]

    def _keys(self, entry: Any) -> pa.Table:
        file = entry.file
        path = file.external_path or canonical_data_file_path(
            self.table, entry.partition.values, entry.bucket, file.file_name
        )
        with self.table.file_io.new_input_stream(path) as stream:
            data = pa.BufferReader(stream.read())
        return _READERS[Path(file.file_name).suffix](data).select(self._comparable)


def _have_common_row(some: pa.Table, others: pa.Table) -> bool:
    """Whether a row of one may be equal to a row of the other. Without columns, any may be."""
    for name in some.column_names:
        some = some.filter(pc.is_in(some.column(name), value_set=others.column(name).combine_chunks()))
    if not some.num_columns or not some.num_rows:
        return not some.num_columns
    rows = [set(zip(*each.to_pydict().values(), strict=True)) for each in (some, others)]
    return not rows[0].isdisjoint(rows[1])
