"""Overlapping Avro files, in which rows are counted to be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOCAL_BYTES, TASK_ROWS
from tests.conftest import ORDERS
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows
from tests.spark.native.test_native import agreed, data_files, orders
from tests.spark.native.test_vectors import VECTORS, agree, create, vectors

AVRO = {"bucket": "1", "file.format": "avro"}


@pytest.mark.parametrize(
    "options",
    [
        # What is above ORC is Avro too.
        pytest.param(AVRO, marks=pytest.mark.long),
        pytest.param({"bucket": "1", "file.format.per.level": "0:avro"}, marks=pytest.mark.long),
        {"bucket": "1", "file.format.per.level": "0:avro,1:orc"},
    ],
    ids=["avro", "above parquet", "above orc"],
)
@pytest.mark.parametrize("by", long_but(["process", "tasks"], "tasks"))
def test_runs_that_overlap_are_merged_natively(
    options: Mapping[str, str], by: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = f"avro.{by}{len(options)}{sum(map(len, options.values()))}"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=options)
    settings = {LOCAL_BYTES: "0", TASK_ROWS: "50"} if by == "tasks" else {}
    for setting, value in settings.items():
        rows(engine, f"SET {setting} = {value}")
    try:
        judge.put(engine_warehouse, name, [("+I", [n, "a", float(n)]) for n in range(1, 301)])
        judge.put(engine_warehouse, name, [("+I", [n, "b", float(n)]) for n in range(100, 150)])
        judge.compact(engine_warehouse, name)
        assert len(agreed(engine, f"SELECT * FROM {name}")) == 300
        judge.put(engine_warehouse, name, [("+I", [n, "c", float(n)]) for n in range(140, 170)])
        judge.put(engine_warehouse, name, [("-D", [n, "", 0.0]) for n in (1, 145, 300)])
        judge.put(engine_warehouse, name, [("+I", [n, "d", float(n)]) for n in range(299, 308)])
        asked = f"SELECT customer, count(*) AS n, sum(price) AS p FROM {name} GROUP BY customer"
        found = {row["customer"]: row["n"] for row in agreed(engine, asked)}
        assert found == {"a": 98 + 129, "b": 40, "c": 29, "d": 9}
        assert agreed(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 305}]
        for key, customer in ((2, "a"), (144, "c"), (300, "d")):
            (row,) = agreed(engine, f"SELECT customer FROM {name} WHERE order_id = {key}")
            assert row == {"customer": customer}
        assert agreed(engine, f"SELECT * FROM {name} WHERE order_id = 145") == []
        assert agreed(engine, f"SELECT order_id FROM {name} WHERE customer = 'b' AND order_id > 138") == [
            {"order_id": 139}
        ]
        assert len(agreed(engine, f"SELECT * FROM {name} LIMIT 400")) == 305
        stock = sorted(judge.rows(engine_warehouse, name), key=repr)
        ours = agreed(engine, f"SELECT * FROM {name}")
        assert sorted((list(row.values()) for row in ours), key=repr) == stock
    finally:
        for setting in settings:
            rows(engine, f"RESET {setting}")


@pytest.mark.parametrize("keys", [(), ("k",)], ids=["append", "keyed"])
def test_deletion_vectors(
    keys: tuple[str, ...], engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = f"avro.vectors{len(keys)}"
    create(engine_warehouse, name, VECTORS | {"file.format": "avro"}, keys)
    judge.put(engine_warehouse, name, [("+I", [k, k]) for k in range(1000)])
    judge.put(engine_warehouse, name, [("+I", [k, -3 * k]) for k in range(100, 110)])
    if not keys:
        judge.delete_rows(engine_warehouse, name, [0, 5, 105, 999])
    assert vectors(engine_warehouse, name)
    agree(engine, judge, engine_warehouse, name)


def test_small_numbers_as_keys(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """For which Avro has no type of their own."""
    name = "avro.small"
    schema = pa.schema([pa.field("k", pa.int8(), nullable=False), ("v", pa.int16())])
    create_table(engine_warehouse, name, schema, primary_keys=["k"], options=AVRO)
    for first in (-3, -1):
        judge.put(engine_warehouse, name, [("+I", [k, first * k]) for k in range(first, first + 4)])
    rows(engine, f"SET {LOCAL_BYTES} = 0")
    try:
        found = agreed(engine, f"SELECT * FROM {name}")
        assert sorted(tuple(row.values()) for row in found) == [
            (-3, 9),
            (-2, 6),
            (-1, 1),
            (0, 0),
            (1, -1),
            (2, -2),
        ]
        assert agreed(engine, f"SELECT v FROM {name} WHERE k = -1") == [{"v": 1}]
        assert agreed(engine, f"SELECT k FROM {name} WHERE v = -2") == [{"k": 2}]
    finally:
        rows(engine, f"RESET {LOCAL_BYTES}")


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_file_is_told(damage: str, engine: Engine, engine_warehouse: Path) -> None:
    name = f"avro.{damage}"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=AVRO)
    for first in (1, 2):
        commit(engine_warehouse, name, orders(first, 300, "a"))
    file = data_files(engine_warehouse, name)[0]
    data = file.read_bytes()
    half = len(data) // 2
    file.write_bytes(data[:half] if damage == "cut" else data[:half] + b"damage" + data[half + 6 :])
    failure = ask(engine, f"SELECT sum(price) FROM {name}").failure
    assert file.name in failure.message and "Exception" not in failure.message, failure
