"""Commit data files that a benchmark made itself to a table with a key."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pypaimon.data.timestamp import Timestamp
from pypaimon.manifest.schema.data_file_meta import DataFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.generic_row import GenericRow
from pypaimon.write.commit_message import CommitMessage

BIG_LEVEL = 5


class DataFile(NamedTuple):
    """A file of `rows` rows; `number` is the first of their sequence numbers."""

    bucket: int
    path: Path
    rows: int
    first_key: int
    last_key: int
    number: int
    level: int


def commit(table: Any, files: Iterable[DataFile]) -> None:
    """Commit all of them at once to a table of pypaimon's whose key is one number."""
    messages: dict[int, CommitMessage] = {}
    for file in files:
        message = messages.setdefault(file.bucket, CommitMessage((), file.bucket, []))
        message.new_files.append(_entry(file, table.trimmed_primary_keys_fields))
    committer = table.new_batch_write_builder().new_commit()
    committer.commit(list(messages.values()))
    committer.close()


def _entry(file: DataFile, key: Any) -> Any:
    first, last = (GenericRow([each], key) for each in (file.first_key, file.last_key))
    return DataFileMeta.create(
        file_name=file.path.name,
        file_size=file.path.stat().st_size,
        row_count=file.rows,
        min_key=first,
        max_key=last,
        # Stock readers compare a condition on the key with these, and fail if they are empty.
        key_stats=SimpleStats(first, last, [0]),
        value_stats=SimpleStats.empty_stats(),
        min_sequence_number=file.number,
        max_sequence_number=file.number + file.rows - 1,
        schema_id=0,
        level=file.level,
        extra_files=[],
        creation_time=Timestamp.now(),
        delete_row_count=0,
        file_source=0,
        value_stats_cols=[],
    )
