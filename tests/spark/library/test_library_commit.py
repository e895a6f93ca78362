"""What surrounds a commit of rows that Paimon's library wrote: tasks that fail, and what follows a commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException, SparkRuntimeException
from pyspark.sql import functions as sql

from paimark.core.errors import Refused
from paimark.core.spark.datasource.options import WRITE, require_allowed
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.writing.target import WriteTarget, find_target
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.notes import Note, note_of
from paimark.core.table.operations import read_operations
from tests.full_disk import no_file_over
from tests.interop.follow_ups.test_iceberg import Iceberg
from tests.interop.judge import Judge
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.session import writes_of
from tests.wording import about

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"k": "INT", "v": "INT"}
ICEBERG = {"metadata.iceberg.storage": "table-location"}


def begun(session: SparkSession, table: Table) -> tuple[LibraryWrites, WriteTarget]:
    target = find_target({"warehouse": str(table.warehouse), "table": table.name}, False)
    return writes_of(session, LocalFiles(str(table.warehouse))), target


def test_a_writers_message_is_in_the_snapshot_and_in_the_log(
    tmp_path: Path, spark_of_library: SparkSession
) -> None:
    files = LocalFiles(str(Table(tmp_path, "d.t", COLUMNS).warehouse))
    options = {"warehouse": str(tmp_path), "table": "d.t", "message": "nightly", "author": "jane"}
    require_allowed(options, WRITE)
    rows = spark_of_library.sql("SELECT 1 AS k, 2 AS v")
    made = writes_of(spark_of_library, files).write(find_target(options, False), rows)
    assert made is not None and note_of(made.snapshot) == Note("nightly", "jane")
    [logged] = read_operations(files, TablePath("d", "t"))
    assert (logged.message, logged.author) == ("nightly", "jane")


@pytest.mark.parametrize("keys", [pytest.param([], marks=pytest.mark.long), ["k"]], ids=["append", "keyed"])
def test_a_task_that_fails_leaves_no_file_of_any_task(
    tmp_path: Path, spark_of_library: SparkSession, keys: list[str]
) -> None:
    """The others have told what they wrote by then; the last one fails after it wrote a part of its rows."""
    table = Table(tmp_path, "d.t", COLUMNS, keys=keys, options={"bucket": "4"} if keys else {})
    before = table.files()
    writes, target = begun(spark_of_library, table)
    rows = spark_of_library.range(0, 40_000, 1, 4)
    # Otherwise it could fail while others still tell: their files stay, as Spark asks nobody to delete them.
    later = sql.expr("concat('the last one', coalesce(reflect('java.lang.Thread', 'sleep', 2000L), ''))")
    value = sql.when(rows.id < 39_999, rows.id).otherwise(sql.raise_error(later))
    with pytest.raises(CapturedException, match="the last one"):
        writes.write(target, rows.select(rows.id.cast("int").alias("k"), value.cast("int").alias("v")))
    assert table.files() == before


@pytest.mark.parametrize("keys", [pytest.param([], marks=pytest.mark.long), ["k"]], ids=["append", "keyed"])
def test_a_full_disk_leaves_nothing_and_the_next_write_lands(
    tmp_path: Path, spark_of_library: SparkSession, keys: list[str]
) -> None:
    table = Table(tmp_path, "d.t", COLUMNS, keys=keys, options={"bucket": "1"} if keys else {})
    rows = spark_of_library.range(50_000).selectExpr("int(id) AS k", "int(id) AS v")
    writes, target = begun(spark_of_library, table)
    # Java unpacks libraries of its own at the first write.
    assert writes.write(target, rows.limit(1)) is not None
    before = table.files()
    writes, target = begun(spark_of_library, table)
    java: Any = spark_of_library._jvm
    process = int(java.java.lang.ProcessHandle.current().pid())
    with (
        no_file_over(20_000, process),
        pytest.raises((CapturedException, Py4JJavaError), match="File too large"),
    ):
        # By one task: otherwise the files between Spark's tasks would be too large, and no task would write.
        writes.write(target, rows, is_small=True)
    assert table.files() == before
    assert writes.write(target, rows) is not None
    assert len(read_rows(table.warehouse, table.name)) == 50_000 + (not keys)


def test_a_null_where_none_may_be_is_told_in_our_words(
    tmp_path: Path, spark_of_library: SparkSession
) -> None:
    table = Table(tmp_path, "d.t", COLUMNS, keys=["k"], options={"bucket": "1"})
    before = table.files()
    writes, target = begun(spark_of_library, table)
    with pytest.raises(SparkRuntimeException, match=about("column k", "null")):
        writes.write(target, spark_of_library.createDataFrame([(1, 1), (None, 2)], "k INT, v INT"))
    assert table.files() == before


def test_a_table_that_paimon_does_not_open_is_refused(tmp_path: Path, spark_of_library: SparkSession) -> None:
    table = Table(tmp_path, "d.t", COLUMNS, options={"bucket": "2"})
    writes, target = begun(spark_of_library, table)
    with pytest.raises(Refused, match=about("d.t", "You should define a 'bucket-key'")):
        writes.require(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paimark.core.spark.library.written_table.has_library", lambda session, name: False)
        with pytest.raises(Refused, match=about("Paimon's", "library", "Spark", "none")) as raised:
            writes.require(target)
    assert "paimark jars fetch paimon" in raised.value.hint


@pytest.mark.parametrize("partition_keys", [[], ["k"]], ids=["whole", "partitioned"])
def test_one_bucket_needs_no_key(
    tmp_path: Path, spark_of_library: SparkSession, partition_keys: list[str]
) -> None:
    """Tables without a key had one bucket by themselves before Paimon 0.9."""
    table = Table(tmp_path, "d.t", COLUMNS, partition_keys=partition_keys, options={"bucket": "1"})
    writes, target = begun(spark_of_library, table)
    made = writes.write(target, spark_of_library.createDataFrame([(1, 1), (2, 2)], "k INT, v INT"))
    assert made is not None
    assert sorted(row["k"] for row in read_rows(table.warehouse, table.name)) == [1, 2]
    assert {path.parent.name for path in table.files() if path.suffix == ".parquet"} == {"bucket-0"}


def test_iceberg_metadata_follows_the_commit(tmp_path: Path, spark_of_library: SparkSession) -> None:
    table = Table(tmp_path, "d.t", COLUMNS, options=ICEBERG)
    for number in (1, 2):
        writes, target = begun(spark_of_library, table)
        made = writes.write(target, spark_of_library.createDataFrame([(number, 1)], "k INT, v INT"))
        assert made is not None and (made.snapshot.id, made.remark) == (number, "")
        hint = table.directory / "metadata" / "version-hint.text"
        assert hint.read_text() == str(number)


@pytest.mark.parametrize(
    "storage", ["table-location", pytest.param("hadoop-catalog", marks=pytest.mark.long)]
)
def test_iceberg_readers_lose_the_files_that_a_commit_takes_away(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession, storage: str
) -> None:
    """Stock wrote their metadata with paths that begin with `/`, and ours begin with `file:/`."""
    ice = Iceberg(tmp_path, judge, storage)
    ice.put(1)
    ice.put(2)
    options = {"warehouse": str(tmp_path), "table": ice.table.name}
    target = find_target(options, True)
    writes = writes_of(spark_of_library, LocalFiles(str(tmp_path)))
    made = writes.write(target, spark_of_library.createDataFrame([(7, "ours")], "id INT, v STRING"))
    assert made is not None and made.remark == ""
    assert ice.rows() == [7]
    ice.put(8)
    assert ice.rows() == [7, 8]


def test_what_fails_after_the_commit_is_a_remark(tmp_path: Path, spark_of_library: SparkSession) -> None:
    """The rows are in the table: nothing is taken back, and no file of theirs is deleted."""
    table = Table(tmp_path, "d.t", COLUMNS, options=ICEBERG)
    table.write([(1, 1)])
    hint = table.directory / "metadata" / "version-hint.text"
    (hint / "x").mkdir(parents=True)
    writes, target = begun(spark_of_library, table)
    made = writes.write(target, spark_of_library.createDataFrame([(2, 2)], "k INT, v INT"))
    assert made is not None and made.snapshot.id == 2
    assert "version-hint.text" in made.remark
    assert read_rows(table.warehouse, table.name) == [{"k": 1, "v": 1}, {"k": 2, "v": 2}]
