"""Files with deletion vectors, and tables of which compacted files alone are seen, read natively."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.client.client import Engine
from paimark.core.spark.merging.model import MergeFile, Vector
from paimark.core.spark.merging.pieces import vector_bits
from paimark.core.spark.merging.reading import file_opener
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.manifests import DeletionVector, read_deletion_vectors
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import create_table
from tests.spark.engine_fixture import ask, by_library, rows
from tests.spark.native.test_lookups import agreed as looked_up
from tests.wording import about

Row = tuple[int, int | None]
VECTORS = {"deletion-vectors.enabled": "true"}
SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int32())])
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}


def create(warehouse: Path, name: str, options: Mapping[str, str], keys: tuple[str, ...] = ("k",)) -> None:
    more = {"bucket": "1", "write-only": "false"} if keys else {}
    create_table(warehouse, name, SCHEMA, primary_keys=keys, options={**more, **options})


def vectors(warehouse: Path, name: str) -> dict[str, DeletionVector]:
    """Those of the newest snapshot, by the names of their files."""
    files, table = LocalFiles(str(warehouse)), TablePath(*name.split("."))
    snapshot = Lineage(files, table.root()).latest()
    assert snapshot is not None
    return read_deletion_vectors(files, table.manifest(snapshot.index_manifest or ""))


def rows_of(engine: Engine, sql: str, scan: str = "native") -> list[tuple[object, ...]]:
    answer = ask(engine, sql)
    assert answer.finish.rows == len(answer.rows)
    # Where no file has a vector, the metadata have counts and bounds.
    assert {reading.scan for reading in answer.readings} <= {scan, "metadata"}, sql
    return sorted(tuple(row.values()) for row in answer.rows)


def agree(engine: Engine, judge: Judge, warehouse: Path, name: str, scan: str = "native") -> list[Row]:
    """Stock Paimon's rows, which every kind of statement gives."""
    expected: list[Row] = sorted((row[0], row[1]) for row in judge.rows(warehouse, name))
    numbers = [v for _, v in expected if v is not None]
    assert rows_of(engine, f"SELECT * FROM {name}", scan) == expected
    assert rows_of(engine, f"SELECT count(*) FROM {name}", scan) == [(len(expected),)]
    assert rows_of(engine, f"SELECT max(v), min(v), sum(v) FROM {name}", scan) == [
        (max(numbers), min(numbers), sum(numbers))
    ]
    some = f"SELECT * FROM {name} WHERE v < 0 AND k >= 100"
    assert rows_of(engine, some, scan) == [row for row in expected if (row[1] or 0) < 0 and row[0] >= 100]
    for key in (0, 105):
        # The first may be looked up, and all are rows of files that have a vector.
        asked = f"SELECT * FROM {name} WHERE k = {key}"
        assert rows_of(engine, asked, scan) == [row for row in expected if row[0] == key]
    assert len(limited := rows_of(engine, f"SELECT * FROM {name} LIMIT 7", scan)) == 7
    assert {*limited} <= {*expected}
    return expected


@pytest.mark.parametrize(
    "options",
    [
        VECTORS,
        pytest.param(VECTORS | {"deletion-vectors.bitmap64": "true"}, marks=pytest.mark.long),
        pytest.param(VECTORS | {"index-file-in-data-file-dir": "true"}, marks=pytest.mark.long),
        VECTORS | {"merge-engine": "partial-update"},
        pytest.param(VECTORS | SUM, marks=pytest.mark.long),
    ],
    ids=["plain", "bitmap64", "beside data", "partial-update", "aggregation"],
)
def test_a_table_with_keys(
    options: Mapping[str, str], engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = f"vectors.keyed{len(options)}_{sum(map(len, options))}"
    create(engine_warehouse, name, options)
    judge.put(engine_warehouse, name, [("+I", [k, k]) for k in range(1000)])
    whole = rows(engine, f"SELECT count(*) AS n FROM {name}")
    judge.put(engine_warehouse, name, [("+I", [k, -3 * k]) for k in range(100, 110)])
    assert len(vectors(engine_warehouse, name)) == 1
    first = agree(engine, judge, engine_warehouse, name)
    if "merge-engine" not in options:
        judge.put(engine_warehouse, name, [("-D", [k, 0]) for k in (0, 105, 999)])
        assert len(agree(engine, judge, engine_warehouse, name)) == len(first) - 3
    # A key that no older file has leaves the vectors as they are.
    judge.put(engine_warehouse, name, [("+I", [5000, 1])])
    agree(engine, judge, engine_warehouse, name)
    # Each snapshot has vectors of its own.
    assert whole == [{"n": 1000}]
    assert rows(engine, f"SELECT count(*) AS n FROM {name} VERSION AS OF 2 WHERE v >= 0") == whole


@pytest.mark.parametrize("width", long_but(["32", "64"], "64"))
def test_a_table_without_keys(width: str, engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    name = f"vectors.append{width}"
    wide = {"deletion-vectors.bitmap64": "true"} if width == "64" else {}
    create(engine_warehouse, name, VECTORS | wide, keys=())
    judge.put(engine_warehouse, name, [("+I", [k, k]) for k in range(1000)])
    judge.put(engine_warehouse, name, [("+I", [k, -k]) for k in range(100, 200)])
    judge.delete_rows(engine_warehouse, name, [0, 5, 105, 999])
    assert len(vectors(engine_warehouse, name)) == 2
    assert len(agree(engine, judge, engine_warehouse, name)) == 1100 - 4 - 2
    judge.delete_rows(engine_warehouse, name, range(64))
    last = agree(engine, judge, engine_warehouse, name)
    assert len(last) == 1100 - 66 - 64
    if width == "32":
        with by_library(engine):
            assert agree(engine, judge, engine_warehouse, name, "paimon library") == last
        found = paimark.open(str(engine_warehouse)).table(name).at().to_arrow()
        assert found.num_rows == len(last)
    asked = f"SELECT count(*) AS n FROM {name} VERSION AS OF"
    assert [rows(engine, f"{asked} {n}") for n in (2, 3)] == [[{"n": 1100}], [{"n": 1094}]]


@pytest.mark.parametrize(
    ("keys", "batches"),
    [
        (("k",), "true"),
        ((), "false"),
        pytest.param(("k",), "false", marks=pytest.mark.long),
        pytest.param((), "true", marks=pytest.mark.long),
    ],
)
def test_keys_are_looked_up(
    keys: tuple[str, ...], batches: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """The deleted rows are at both ends, and where what is read at once begins and ends."""
    name = f"vectors.lookup{len(keys)}{batches}"
    create(engine_warehouse, name, VECTORS, keys)
    judge.put(engine_warehouse, name, [("+I", [k, -k]) for k in range(5000)])
    gone = [0, 1023, 1024, 2047, 4999]
    if keys:
        judge.put(engine_warehouse, name, [("-D", [k, 0]) for k in gone])
        judge.put(engine_warehouse, name, [("+I", [1024, 7])])
    else:
        judge.delete_rows(engine_warehouse, name, gone)
        judge.put(engine_warehouse, name, [("+I", [1024, 7])])
    assert vectors(engine_warehouse, name)
    rows(engine, f"SET spark.sql.parquet.enableVectorizedReader = {batches}")
    try:
        select = f"SELECT * FROM {name} WHERE k"
        for k in gone:
            assert looked_up(engine, f"{select} = {k}") == ([{"k": k, "v": 7}] if k == 1024 else [])
        assert looked_up(engine, f"{select} = 1022") == [{"k": 1022, "v": -1022}]
        some = looked_up(engine, f"{select} IN (0, 1, 1023, 1024, 1025, 4998, 4999)")
        assert {row["k"]: row["v"] for row in some} == {1: -1, 1024: 7, 1025: -1025, 4998: -4998}
        if not keys:
            assert looked_up(engine, f"SELECT * FROM {name} WHERE v = -1023") == []
            before = f"SELECT * FROM {name} VERSION AS OF 1 WHERE k = 1023"
            assert looked_up(engine, before) == [{"k": 1023, "v": -1023}]
    finally:
        rows(engine, "RESET spark.sql.parquet.enableVectorizedReader")


def test_the_first_rows_of_keys(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    name = "vectors.first"
    create(engine_warehouse, name, {"merge-engine": "first-row"})
    judge.put(engine_warehouse, name, [("+I", [k, k - 500]) for k in range(1000)])
    judge.put(engine_warehouse, name, [("+I", [k, 7]) for k in range(900, 1100)])
    assert len(agree(engine, judge, engine_warehouse, name)) == 1100


def test_what_is_not_read_so_says_why(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """And conditions are on rows of files that have a vector."""
    name = "vectors.orc"
    create(engine_warehouse, name, VECTORS | {"file.format": "orc"})
    judge.put(engine_warehouse, name, [("+I", [k, -k]) for k in range(1000)])
    judge.put(engine_warehouse, name, [("-D", [k, 0]) for k in range(100, 110)])
    assert len(vectors(engine_warehouse, name)) == 1
    agree(engine, judge, engine_warehouse, name, "paimon library")
    assert "deletion vectors of orc files" in ask(engine, f"EXPLAIN SELECT * FROM {name}").explained


def test_wide_vectors_are_refused_where_python_would_read(tmp_path: Path, judge: Judge) -> None:
    name = "vectors.wide"
    create(tmp_path, name, VECTORS | {"deletion-vectors.bitmap64": "true", "file.format": "orc"})
    judge.put(tmp_path, name, [("+I", [k, -k]) for k in range(1000)])
    judge.put(tmp_path, name, [("-D", [k, 0]) for k in range(100, 110)])
    assert len(vectors(tmp_path, name)) == 1
    with pytest.raises(paimark.Refused, match=about("deletion vectors", "vectors.wide")):
        paimark.open(str(tmp_path)).table(name).at("snapshot.4").to_arrow()


def test_a_vector_that_is_broken_is_told(tmp_path: Path, judge: Judge) -> None:
    create(tmp_path, "vectors.t", VECTORS)
    judge.put(tmp_path, "vectors.t", [("+I", [k, k]) for k in range(1000)])
    judge.put(tmp_path, "vectors.t", [("-D", [k, k]) for k in range(10)])
    (told,) = vectors(tmp_path, "vectors.t").values()
    path = tmp_path / TablePath("vectors", "t").index_file(told.held_by.name)
    vector, opened = Vector(str(path), told.offset, told.length), file_opener({})
    file = MergeFile("data", "parquet", 0, 1, 1000, 0, 0, 0, (), (), vector=vector)
    assert [bits.popcount() for bits in vector_bits([file, file], opened)] == [990, 990]

    def refused(text: str, vector: Vector = vector, rows: int = 1000) -> None:
        with pytest.raises((Corrupt, FileMissing)) as error:
            vector_bits([replace(file, row_count=rows, vector=vector)], opened)
        assert about(*text.split()).search(error.value.message)

    refused("deletes rows data", rows=9)
    refused("no deletion vector", Vector(str(path), told.offset + 1, told.length))
    refused(f"{path.name} read", Vector(str(path), told.offset + 4096, told.length))
    refused("no deletion vector", Vector(str(path), told.offset, told.length + 1))
    refused(f"{path.name}x", Vector(f"{path}x", told.offset, told.length))
    whole = path.read_bytes()
    for place in range(told.offset + 4, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused("deletion vector")
    path.write_bytes(whole[:-6])
    refused("deletion vector")
