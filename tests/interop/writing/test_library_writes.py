"""Tables that Paimon's library writes through Spark: stock Paimon reads, writes and compacts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest

from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.library.commit import Committed
from paimark.core.spark.writing.write import find_target
from paimark.core.storage.open import open_files
from tests.interop.judge import Judge
from tests.interop.writing.test_written_table_kinds import (
    COLUMNS,
    FIRST,
    SECOND,
    THEIRS,
    TWO,
    WORKING,
    of_stock,
)
from tests.interop.written import Table
from tests.long import long_but
from tests.spark.library.session import writes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTIAL = {**TWO, "merge-engine": "partial-update"}
OFTEN = ("deduplicate", "dynamic buckets", "changelog input", "sequence group", "texts in a list")
KINDS: dict[str, dict[str, str]] = {
    **{
        name: WORKING[name]
        for name in (
            "deduplicate",
            "dynamic buckets",
            "aggregation",
            "sequence field",
            "changelog input",
        )
    },
    "sequence group": {**PARTIAL, "fields.v.sequence-group": "s"},
    "partial update that ignores deletes": {**PARTIAL, "ignore-delete": "true"},
    "texts in a list": {**TWO, "merge-engine": "aggregation", "fields.s.aggregate-function": "listagg"},
    "buckets by remainder": {**TWO, "bucket-function.type": "mod"},
}


class ByLibrary(Table):
    """Its rows are written by the library."""

    session: SparkSession

    def insert(
        self, rows: Sequence[Sequence[Any]], *, overwrite: bool = False, dynamic: bool = False, **part: Any
    ) -> Committed | None:
        """`part`: the partition to replace."""
        target = find_target({"warehouse": str(self.warehouse), "table": self.name}, overwrite)
        target = msgspec.structs.replace(target, dynamic=dynamic)
        columns = spark_columns(Scan(**{name: getattr(target, name) for name in Scan.__struct_fields__[:6]}))
        frame = self.session.createDataFrame([tuple(row) for row in rows], columns)
        partitions = self.session.createDataFrame(pa.Table.from_pylist([part])) if part else None
        writes = writes_of(self.session, open_files(target.warehouse, target.options))
        return writes.write(target, frame, partitions=partitions)

    def write(self, rows: Sequence[Sequence[Any]], *, overwrite: bool = False) -> None:
        self.insert(rows, overwrite=overwrite)


def made(session: SparkSession, warehouse: Path, name: str, **definition: Any) -> ByLibrary:
    table = ByLibrary(warehouse, name, **{"columns": COLUMNS, **definition})
    table.session = session
    return table


@pytest.mark.parametrize("kind", long_but(KINDS, *OFTEN))
def test_ours_and_theirs_come_to_what_theirs_alone_would(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession, kind: str
) -> None:
    """Two tables get the same commits; every other one of one table is ours. Stock compacts both."""
    options = KINDS[kind]
    ours = made(spark_of_library, tmp_path, "d.a", keys=["k"], options=options)
    theirs = Table(tmp_path, "d.b", COLUMNS, keys=["k"], options=options)

    def put(table: Table, rows: Sequence[tuple[str, Sequence[Any]]]) -> None:
        judge.put(tmp_path, table.name, rows)

    def same() -> None:
        assert of_stock(judge, ours) == of_stock(judge, theirs)

    ours.write(FIRST)
    put(theirs, [("+I", list(row)) for row in FIRST])
    same()
    assert judge.misplaced(tmp_path, ours.name) == []
    for table in (ours, theirs):
        put(table, THEIRS)
    ours.write(SECOND)
    put(theirs, [("+I", list(row)) for row in SECOND])
    same()
    for table in (ours, theirs):
        judge.compact(tmp_path, table.name)
    same()
    ours.write([(5, 1000, "c")])
    put(theirs, [("+I", [5, 1000, "c"])])
    same()


def test_postponed_buckets_are_fixed_as_rows_come(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession
) -> None:
    table = made(spark_of_library, tmp_path, "d.t", keys=["k"], options={"bucket": "-2"})
    table.write(FIRST)
    table.write([(0, 9, "x"), (9, 9, "y")])
    assert of_stock(judge, table) == [[0, 9, "x"], *[list(row) for row in FIRST[1:]], [9, 9, "y"]]


def test_a_key_moves_to_another_partition(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession
) -> None:
    table = made(
        spark_of_library, tmp_path, "d.t", keys=["k"], partition_keys=["v"], options={"bucket": "-1"}
    )
    table.write([(1, 1, "a"), (2, 1, "b")])
    table.write([(1, 2, "c"), (3, 2, "d")])
    assert of_stock(judge, table) == [[1, 2, "c"], [2, 1, "b"], [3, 2, "d"]]
    judge.compact(tmp_path, table.name)
    assert of_stock(judge, table) == [[1, 2, "c"], [2, 1, "b"], [3, 2, "d"]]


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "-1"},
        {"bucket": "2", "bucket-key": "k"},
        {"bucket": "-1", "deletion-vectors.enabled": "true"},
        {"bucket": "-1", "row-tracking.enabled": "true"},
    ],
    ids=str,
)
def test_rows_without_a_key(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession, options: Mapping[str, str]
) -> None:
    table = made(spark_of_library, tmp_path, "d.t", options=options)
    table.write(FIRST)
    judge.put(tmp_path, table.name, THEIRS)
    if "deletion-vectors.enabled" in options:
        judge.delete_rows(tmp_path, table.name, [0])
    before = of_stock(judge, table)
    table.write(SECOND)
    assert of_stock(judge, table) == sorted([*before, *map(list, SECOND)], key=repr)
    table.write([(1, 1, "x")], overwrite=True)
    assert of_stock(judge, table) == [[1, 1, "x"]]


@pytest.mark.parametrize("keys", [[], ["k", "s"]], ids=["append", "keyed"])
def test_an_overwrite_replaces_what_it_names(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession, keys: list[str]
) -> None:
    options = {"bucket": "1"} if keys else {}
    table = made(spark_of_library, tmp_path, "d.t", keys=keys, partition_keys=["s"], options=options)
    table.write([(1, 1, "a"), (2, 2, "b"), (3, 3, "c")])
    table.insert([(4, 4, "a")], overwrite=True, s="a")
    assert of_stock(judge, table) == [[2, 2, "b"], [3, 3, "c"], [4, 4, "a"]]
    # The partition loses its rows, and no other one does.
    table.insert([], overwrite=True, s="b")
    assert of_stock(judge, table) == [[3, 3, "c"], [4, 4, "a"]]
    table.insert([(5, 5, "c"), (6, 6, "d")], overwrite=True, dynamic=True)
    assert of_stock(judge, table) == [[4, 4, "a"], [5, 5, "c"], [6, 6, "d"]]
    assert table.insert([], overwrite=True, dynamic=True) is None
    table.write([], overwrite=True)
    assert of_stock(judge, table) == []


def test_char_columns_are_padded_as_spark_pads_them(
    tmp_path: Path, judge: Judge, spark_of_library: SparkSession
) -> None:
    """Without blanks 'ab' would be another key than stock's, and in another bucket."""
    columns = {"k": "CHAR(5)", "v": "INT", "p": "CHAR(3)"}
    table = made(
        spark_of_library, tmp_path, "d.t", columns=columns, keys=["k", "p"], partition_keys=["p"], options=TWO
    )
    judge.put(tmp_path, table.name, [("+I", ["ab   ", 1, "x  "])])
    table.write([("ab", 2, "x"), ("äöü", 3, "x")])
    assert of_stock(judge, table) == [["ab   ", 2, "x  "], ["äöü  ", 3, "x  "]]
    assert judge.misplaced(tmp_path, table.name) == []
    assert [path.name for path in table.directory.glob("p=*")] == ["p=x  "]
