"""Rows of every kind of table are written again by Paimon's library: stock reads and compacts them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.table.definition import kinds
from tests.interop.judge import Judge
from tests.long import long_but
from tests.spark.library.test_library_kinds import KINDS as READ
from tests.spark.library.test_library_kinds import Kind, Write, expected, make
from tests.spark.written_tables import lineage_of, order, refused, run_write, version

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
    "a changelog": Kind(COLUMNS, WRITES, {"bucket": "1", "changelog-producer": "input"}),
}
KINDS = {**READ, **MORE}
OFTEN = (
    "sequence group",
    "retractions",
    "first row",
    "vectors",
    "keys across partitions",
    "postponed buckets",
    "clustered keys",
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
