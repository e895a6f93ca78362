"""Both ways to write rows: by pypaimon in Python's tasks, and by Paimon's library.

Rows are written by `write_begun` and committed by `commit_begun`, so that a test can act in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from paimark.core.spark.library.commit import LibraryCommit
from paimark.core.spark.writing import row_files
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.table.lineage.commits import note_last
from tests.spark.library.session import writes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_library: list[SparkSession] = []
# Only the library's commits stand on one snapshot, or are of a change with a lock.
BY_LIBRARY = pytest.mark.parametrize("way", ["library"], indirect=True)


@pytest.fixture(params=["pypaimon", "library"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """The way of the test; its table is to be made after this."""
    if request.param == "library":
        _library.append(request.getfixturevalue("spark_of_library"))
    yield request.param
    _library.clear()


def write_begun(target: WriteTarget, batch: pa.RecordBatch, changed: pa.Table | None = None) -> Any:
    """The files of one task, for `commit_begun`. `changed`: as `LibraryWrites.write`, of the whole table."""
    if not _library:
        return [row_files.write_rows(target, [batch])]
    files = open_files(target.warehouse, target.options)
    frame = _library[0].createDataFrame(pa.Table.from_batches([batch]))
    if changed is None:
        return writes_of(_library[0], files).written(target, frame)
    keys = _library[0].createDataFrame(changed)
    given = keys if changed.num_rows else None
    whole = frame.limit(1).select()
    return writes_of(_library[0], files).written(target, frame, partitions=whole, changed=given)


def commit_begun(target: WriteTarget, written: Any, files: Files | None = None) -> None:
    """`files`: the store as the commit sees it."""
    if isinstance(written, list):
        with pytest.MonkeyPatch.context() as patch:
            if files is not None:
                patch.setattr(row_files, "open_files", lambda uri, options: files)
            row_files.commit_rows(target, written)
        return
    store = files or open_files(target.warehouse, target.options)
    made = LibraryCommit(store, target, written).make()
    if made is not None:
        note_last(store, target.root, made.snapshot.id, made.snapshot_json)


def names_of(written: Any) -> set[str]:
    """The names of the data files."""
    if isinstance(written, list):
        paths = [str(file.file_path) for task in written for message in task for file in message.new_files]
    else:
        paths = str(written.addresses()).split("\n")
    return {path.rpartition("/")[2] for path in paths}
