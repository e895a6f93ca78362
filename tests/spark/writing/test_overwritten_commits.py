"""A commit that another engine overwrites is not called done, and what it wrote stays."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from paimark.core.spark.streaming.batch_commit import StreamBatch, commit_batch
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.local import LocalFiles
from paimark.core.table import commits
from paimark.core.table.commits import Overwritten
from tests.interop.written import Table
from tests.paimon import commit, read_rows
from tests.spark.library.session import writes_of
from tests.spark.library.ways import commit_begun, write_begun
from tests.spark.writing.test_refused_commits import (
    COLUMNS,
    ROWS,
    SCHEMA,
    begun,
    instead_of_create,
    lineage,
    unowned,
)
from tests.wording import about


@pytest.fixture
def table(spark_of_library: SparkSession, tmp_path: Path) -> Table:
    table = Table(tmp_path, "d.t", COLUMNS, keys=["k"], options={"bucket": "1"})
    table.write(ROWS)
    return table


def snapshot_of_another(table: Table) -> bytes:
    """What a stock writer is about to move to the place of the next snapshot."""
    commit(table.warehouse, table.name, pa.table({"k": [9], "v": [0]}, schema=SCHEMA))
    path = table.directory / "snapshot" / "snapshot-2"
    data = path.read_bytes()
    path.unlink()
    path.with_name("LATEST").write_bytes(b"1")
    return data


def test_it_is_told_and_its_files_stay(table: Table) -> None:
    theirs, create = snapshot_of_another(table), LocalFiles.create
    path = table.directory / "snapshot" / "snapshot-2"

    def overwritten(files: LocalFiles, name: str, data: bytes) -> bool:
        created = create(files, name, data)
        path.write_bytes(theirs)
        return created

    target, written = begun(table)
    with instead_of_create(overwritten), pytest.raises(Overwritten) as raised:
        commit_begun(target, written)
    assert raised.value.exit_code == 1
    assert about("another engine", "snapshot 2", "d.t").search(raised.value.message)
    assert "lock.enabled" in raised.value.hint
    assert path.read_bytes() == theirs and lineage(table).latest_id() == 2
    assert [name for name in unowned(table) if name.endswith(".parquet")] != []
    assert sorted(row["k"] for row in read_rows(table.warehouse, table.name)) == [1, 2, 9]


def test_the_next_commit_of_a_session_looks_once_more(table: Table) -> None:
    theirs = snapshot_of_another(table)
    target, written = begun(table)
    commit_begun(target, written)
    path = table.directory / "snapshot" / "snapshot-2"
    path.write_bytes(theirs)
    before = table.files()
    with pytest.raises(Overwritten, match=about("session", "nothing", "d.t")):
        commit_begun(*begun(table))
    assert table.files() == before
    # It is told once.
    commit_begun(*begun(table))
    assert lineage(table).latest_id() == 3


def test_what_was_cut_off_main_is_no_overwritten_commit(table: Table) -> None:
    theirs = snapshot_of_another(table)
    commit_begun(*begun(table))
    path = table.directory / "snapshot" / "snapshot-2"
    archive = table.directory / "branch" / "branch-archive" / "snapshot" / "snapshot-2"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(path.read_bytes())
    path.write_bytes(theirs)
    commit_begun(*begun(table))
    assert lineage(table).latest_id() == 3


def batch(table: Table, number: int, key: int) -> None:
    target = msgspec.structs.replace(
        find_target({"warehouse": str(table.warehouse), "table": table.name}, False), commit_user="query"
    )
    rows = pa.RecordBatch.from_pydict({"k": [key], "v": [1]}, schema=SCHEMA)
    session = SparkSession.getActiveSession()
    # Spark asks for each batch in another process.
    commits._LAST.clear()
    assert session is not None
    writes = writes_of(session, LocalFiles(str(table.warehouse)))
    commit_batch(writes, target, StreamBatch(number, "query"), write_begun(target, rows))


def keys(table: Table) -> list[int]:
    return sorted(row["k"] for row in read_rows(table.warehouse, table.name))


def test_a_stream_stops_when_its_last_batch_was_overwritten(table: Table) -> None:
    theirs = snapshot_of_another(table)
    batch(table, 0, 5)
    (table.directory / "snapshot" / "snapshot-2").write_bytes(theirs)
    with pytest.raises(Overwritten, match=about("batch 0", "snapshot 2", "d.t")) as raised:
        batch(table, 1, 6)
    assert keys(table) == [1, 2, 9]
    [attempt] = (table.directory / "branch").glob("STREAM-query.0.*")
    assert str(attempt.relative_to(table.warehouse)) in raised.value.hint
    attempt.unlink()
    batch(table, 1, 6)
    assert keys(table) == [1, 2, 6, 9]


def test_a_batch_that_is_overwritten_while_another_builds_on_it_is_in_the_table_once(table: Table) -> None:
    """Its snapshot is another's when the query tries again, and its rows are in the one after."""
    theirs, create = snapshot_of_another(table), LocalFiles.create
    path = table.directory / "snapshot" / "snapshot-2"

    def overwritten(files: LocalFiles, name: str, data: bytes) -> bool:
        created = create(files, name, data)
        commit(table.warehouse, table.name, pa.table({"k": [8], "v": [0]}, schema=SCHEMA))
        path.write_bytes(theirs)
        return created

    with instead_of_create(overwritten), pytest.raises(Overwritten):
        batch(table, 0, 5)
    assert keys(table) == [1, 2, 5, 8]
    batch(table, 0, 5)
    assert lineage(table).latest_id() == 3
    batch(table, 1, 6)
    assert keys(table) == [1, 2, 5, 6, 8]
