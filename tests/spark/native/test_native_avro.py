"""Avro files: read natively where no row replaces another, else by Paimon's library."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.conftest import ORDERS
from tests.interop.judge import Judge
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows
from tests.spark.native.test_native import agreed, data_files, orders, read_natively
from tests.wording import about

AVRO = {"bucket": "1", "file.format": "avro"}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(AVRO, id="avro", marks=pytest.mark.long),
        pytest.param({"bucket": "1", "file.format.per.level": "0:avro,1:orc"}, id="above orc"),
    ],
)
def test_runs_that_overlap(
    options: dict[str, str], engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = f"avro.runs{sum(map(len, options.values()))}"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=options)
    judge.put(engine_warehouse, name, [("+I", [n, "a", float(n)]) for n in range(1, 301)])
    judge.put(engine_warehouse, name, [("+I", [n, "b", float(n)]) for n in range(100, 150)])
    judge.compact(engine_warehouse, name)
    assert len(agreed(engine, f"SELECT * FROM {name}")) == 300
    judge.put(engine_warehouse, name, [("-D", [n, "", 0.0]) for n in (1, 145, 300)])
    judge.put(engine_warehouse, name, [("+I", [n, "d", float(n)]) for n in range(299, 308)])
    asked = f"SELECT * FROM {name}"
    assert about("rows", "avro", "replace").search(ask(engine, f"EXPLAIN {asked}").explained)
    ours = read_natively(engine, asked, "paimon library")
    assert sorted(list(row.values()) for row in ours) == sorted(judge.rows(engine_warehouse, name))
    assert len(ours) == 305


def test_small_numbers(engine: Engine, engine_warehouse: Path) -> None:
    """For which Avro has no type of their own."""
    name = "avro.small"
    schema = pa.schema([pa.field("k", pa.int8()), pa.field("v", pa.int16())])
    create_table(engine_warehouse, name, schema, options={**AVRO, "bucket": "-1"})
    commit(engine_warehouse, name, pa.table([[-3, -1, 2], [9, 1, None]], schema=schema))
    assert agreed(engine, f"SELECT v FROM {name} WHERE k = -1") == [{"v": 1}]
    assert agreed(engine, f"SELECT k FROM {name} WHERE v IS NULL") == [{"k": 2}]


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_file_is_told(damage: str, engine: Engine, engine_warehouse: Path) -> None:
    name = f"avro.{damage}"
    create_table(engine_warehouse, name, ORDERS, options={**AVRO, "bucket": "-1"})
    commit(engine_warehouse, name, orders(1, 300, "a"))
    [file] = data_files(engine_warehouse, name)
    data = file.read_bytes()
    half = len(data) // 2
    file.write_bytes(data[:half] if damage == "cut" else data[:half] + b"damage" + data[half + 6 :])
    failure = ask(engine, f"SELECT sum(price) FROM {name}").failure
    assert file.name in failure.message and "Exception" not in failure.message, failure
    assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 300}]
