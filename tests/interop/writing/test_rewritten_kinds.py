"""Rows of every kind of table are written again by Paimon's library: stock reads and compacts them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.table.definition import kinds
from tests.interop.judge import Judge
from tests.interop.writing.test_row_changes import end_of, said
from tests.interop.writing.test_row_changes import refused as refused_statement
from tests.long import long_but
from tests.spark.engine_fixture import rows
from tests.spark.library.test_library_kinds import KINDS as READ
from tests.spark.library.test_library_kinds import Kind, Write, expected, make
from tests.spark.written_tables import lineage_of, order, refused, run_write, version
from tests.wording import about

COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}
WRITES: list[list[Write]] = [
    [("+I", [1, 10, "a"]), ("+I", [2, 20, "b"])],
    [("+I", [1, 5, "b"]), ("+I", [3, 30, None])],
]
MORE = {
    # The judge looks for a key in its partition only.
    "keys across partitions": Kind(
        COLUMNS, [WRITES[0], [("+I", [1, 5, "a"])]], {"bucket": "-1"}, partitions=("s",)
    ),
    "postponed buckets": Kind(COLUMNS, WRITES, {"bucket": "-2"}),
    "buckets by remainder": Kind(COLUMNS, WRITES, {"bucket": "2", "bucket-function.type": "mod"}),
    "dynamic buckets": Kind(COLUMNS, WRITES, {"bucket": "-1", "dynamic-bucket.target-row-num": "1"}),
    "vectors without keys": Kind(COLUMNS, WRITES, {"deletion-vectors.enabled": "true"}, keys=()),
    "maps in avro": Kind(
        {"k": "INT", "v": "INT", "s": pa.map_(pa.string(), pa.int32())},
        [[("+I", [1, 1, [["a", 1]]])], [("+I", [1, 1, [["b", None]]]), ("+I", [2, 2, None])]],
        {"bucket": "1", "file.format": "avro"},
    ),
    "vectors": Kind(COLUMNS, WRITES, {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "clustered keys": Kind(
        COLUMNS,
        WRITES,
        {
            "bucket": "2",
            "deletion-vectors.enabled": "true",
            "pk-clustering-override": "true",
            "clustering.columns": "v",
        },
    ),
    "variants": Kind(
        {"k": "INT", "v": "VARIANT"},
        [[("+I", [1, '{"a":[1,null,"x"]}']), ("+I", [2, None])], [("+I", [1, "1.50"]), ("+I", [3, '"ä"'])]],
        {"bucket": "1"},
    ),
    "multisets": Kind(
        {"k": "INT", "v": '{"type":"MULTISET","element":"STRING"}'},
        [[("+I", [1, [["a", 2], ["b", 1]]]), ("+I", [2, None])], [("+I", [1, []])]],
        {"bucket": "1"},
    ),
    "vectors of numbers": Kind(
        {"k": "INT", "v": '{"type":"VECTOR","element":"FLOAT","length":2}'},
        [[("+I", [1, [0.5, -1.25]]), ("+I", [2, None])], [("+I", [3, [1.0, 2.0]])]],
        {"file.format": "avro"},
        keys=(),
        compacts=False,
    ),
    "blobs": Kind(
        {"k": "INT", "v": "BLOB"},
        [[("+I", [1, "00ff"]), ("+I", [2, None])], [("+I", [3, ""])]],
        {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
        keys=(),
        compacts=False,
    ),
    "a changelog": Kind(COLUMNS, WRITES, {"bucket": "1", "changelog-producer": "input"}),
}
KINDS = {**READ, **MORE}
OFTEN = (
    "sequence group",
    "retractions",
    "vectors",
    "keys across partitions",
    "postponed buckets",
    "clustered keys",
    "variants",
    "blobs",
)


@pytest.mark.parametrize("name", long_but(KINDS, *OFTEN))
def test_rows_written_again_are_those_of_their_version(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """The first version's, and then the newest one's. Nothing counts twice, and stock goes on from there."""
    kind, table = KINDS[name], f"again.{name.replace(' ', '_')}"
    make(judge, engine_warehouse, table, kind)
    lineage = lineage_of(engine_warehouse, table)
    schema, newest = lineage.latest_schema(), lineage.latest()
    assert schema is not None and newest is not None
    states = {number: expected(judge, engine_warehouse, table, snapshot=number) for number in (1, newest.id)}
    for number, state in states.items():
        task = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, number))
        if kinds.refusals(schema):
            assert refused(engine, task).message.endswith(kinds.refusals(schema)[0].reason)
            continue
        assert run_write(engine, task) is not None
        assert expected(judge, engine_warehouse, table) == state
        if kind.options.get("bucket", "") in ("1", "2") and name in MORE:
            assert judge.misplaced(engine_warehouse, table) == []
        if kind.compacts:
            judge.compact(engine_warehouse, table)
            assert expected(judge, engine_warehouse, table) == state
    judge.put(engine_warehouse, table, kind.writes[0])


BY_STATEMENTS = {
    "variants": ("parse_json('{\"b\":true}')", '{"b":true}'),
    "multisets": ("map('x', 3)", [["x", 3]]),
    "vectors of numbers": ("array(CAST(3 AS FLOAT), CAST(4 AS FLOAT))", [3.0, 4.0]),
    "blobs": ("X'0102'", "0102"),
}


@pytest.mark.parametrize("name", BY_STATEMENTS)
def test_statements_write_values_of_paimons_own_types(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kind, table = KINDS[name], f"by_statement.{name.replace(' ', '_')}"
    make(judge, engine_warehouse, table, kind)
    before = judge.rows(engine_warehouse, table)
    value, theirs = BY_STATEMENTS[name]
    said(engine, f"INSERT INTO {table} SELECT 9, {value}")
    written = [*before, [9, theirs]]
    if name != "blobs":
        said(engine, f"DELETE FROM {table} WHERE k = 2")
        written = [row for row in written if row[0] != 2]
    assert expected(judge, engine_warehouse, table) == sorted(written, key=repr)
    if name == "vectors of numbers":
        for wrong, why in (("1", "holds 2 values a row"), ("1, NULL", "holds a null")):
            sql = f"INSERT INTO {table} SELECT 9, CAST(array({wrong}) AS ARRAY<FLOAT>)"
            assert why in refused_statement(engine, sql)[0]


def test_keys_of_clustered_files(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """Their files tell the bounds of other columns than the key's."""
    table = "by_statement.clustered"
    make(judge, engine_warehouse, table, KINDS["clustered keys"])
    values = ", ".join(f"({key}, {100 - key}, 's{key}')" for key in range(1, 40))
    said(engine, f"INSERT INTO {table} VALUES {values}")
    said(engine, f"INSERT INTO {table} VALUES (1, 7, 'new'), (50, -1, NULL)")
    theirs = expected(judge, engine_warehouse, table)
    assert len(theirs) == 40
    assert sorted((list(row.values()) for row in rows(engine, f"SELECT * FROM {table}")), key=repr) == theirs
    for key in (1, 2, 39, 50):
        found = rows(engine, f"SELECT * FROM {table} WHERE k = {key}")
        assert [list(row.values()) for row in found] == [row for row in theirs if row[0] == key]
    judge.put(engine_warehouse, table, [("+I", [2, 0, "x"])])
    end_of(engine, f"CALL sys.compact(table => '{table}')")
    assert rows(engine, f"SELECT s FROM {table} WHERE k = 2") == [{"s": "x"}]
    assert [2, 0, "x"] in expected(judge, engine_warehouse, table)


def test_upserts_are_said_by_merges(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "by_statement.upserts"
    judge.create(engine_warehouse, table, COLUMNS, options={"upsert-key": "k"})
    message, _ = refused_statement(engine, f"INSERT INTO {table} VALUES (1, 1, 'a')")
    assert about(table, "INSERT INTO", "upsert").search(message)
    said(engine, f"INSERT OVERWRITE {table} VALUES (1, 1, 'a'), (2, 2, 'b')")
    said(
        engine,
        f"MERGE INTO {table} t USING (SELECT 2 AS k, 5 AS v, 'c' AS s) u ON t.k = u.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    assert expected(judge, engine_warehouse, table) == [[1, 1, "a"], [2, 5, "c"]]


def test_a_strict_table_refuses_a_commit_beside_others(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    table = "by_statement.strict"
    options = {"bucket": "1", "commit.strict-mode.last-safe-snapshot": "1"}
    make(judge, engine_warehouse, table, Kind(COLUMNS, WRITES, options))
    said(engine, f"INSERT INTO {table} VALUES (7, 7, 'ours')")
    judge.compact(engine_warehouse, table)
    message, hint = refused_statement(engine, f"INSERT INTO {table} VALUES (8, 8, 'late')")
    assert "has found a COMPACT snapshot" in message and hint == "Nothing was committed."
    assert [7, 7, "ours"] in expected(judge, engine_warehouse, table)


def test_a_strict_table_that_names_no_snapshot_checks_no_first_commit(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Stock Paimon 1.4 looks for snapshot 0 then, and commits nothing."""
    table = "by_statement.first"
    options = {"bucket": "1", "commit.strict-mode.last-safe-snapshot": "-1"}
    judge.create(engine_warehouse, table, {"k": "INT", "s": "STRING"}, keys=["k"], options=options)
    for key in (1, 2):
        said(engine, f"INSERT INTO {table} VALUES ({key}, 'ours')")
    said(engine, f"DELETE FROM {table} WHERE k = 1")
    assert judge.rows(engine_warehouse, table) == [[2, "ours"]]
