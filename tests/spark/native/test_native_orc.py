"""Overlapping ORC files: their rows have no numbers in Spark, and are told apart by sequence number."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.client.client import Engine
from tests.conftest import ORDERS
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask
from tests.spark.native.test_native import agreed, orders
from tests.wording import about

OPTIONS = {"bucket": "1", "file.format": "orc"}


def test_runs_that_overlap_are_merged_natively(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    name = "orc.runs"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=OPTIONS)
    commit(engine_warehouse, name, orders(1, 300, "a"))
    commit(engine_warehouse, name, orders(100, 50, "b"))
    judge.compact(engine_warehouse, name)
    commit(engine_warehouse, name, orders(140, 30, "c"))
    commit(engine_warehouse, name, orders(299, 9, "d"))
    found = agreed(engine, f"SELECT customer, count(*) AS n, sum(price) AS p FROM {name} GROUP BY customer")
    assert {row["customer"]: row["n"] for row in found} == {"a": 99 + 129, "b": 40, "c": 30, "d": 9}
    assert agreed(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 307}]
    assert agreed(engine, f"SELECT customer FROM {name} WHERE order_id = 145") == [{"customer": "c"}]
    assert agreed(engine, f"SELECT order_id FROM {name} WHERE customer = 'b' AND order_id > 138") == [
        {"order_id": 139}
    ]
    assert len(agreed(engine, f"SELECT * FROM {name} LIMIT 400")) == 307


def test_dates_of_the_old_calendar_are_left_to_the_library(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Spark would move them by days. That there are none only statistics can say."""
    schema, name = pa.schema([("id", pa.int64()), ("day", pa.date32())]), "orc.days"
    create_table(engine_warehouse, name, schema, options={"file.format": "orc"})
    judge.write(engine_warehouse, name, [{"id": 1, "day": dt.date(1582, 10, 15)}, {"id": 2, "day": None}])
    assert len(agreed(engine, f"SELECT * FROM {name}")) == 2
    judge.write(engine_warehouse, name, [{"id": 3, "day": dt.date(1582, 10, 14)}])
    explained = ask(engine, f"EXPLAIN SELECT * FROM {name}").explained
    assert explained.startswith("scan: paimon library (")
    assert about("column day", "1582-10-15", "orc").search(explained.partition(")")[0])
    found = ask(engine, f"SELECT id, cast(day AS string) AS day FROM {name} ORDER BY id").rows
    assert [row["day"] for row in found] == ["1582-10-15", None, "1582-10-14"]


@pytest.mark.parametrize(
    ("names", "scan", "by_place"),
    [(["a", "b"], "native", "true"), (["_col0", "_col1"], "paimon library", "false")],
)
def test_columns_go_by_their_names(
    engine: Engine, engine_warehouse: Path, names: list[str], scan: str, by_place: str
) -> None:
    """Spark has ways to go by their places instead."""
    name = f"orc.named_{names[0]}"
    schema = pa.schema([(each, pa.int64()) for each in names])
    create_table(engine_warehouse, name, schema, options={"file.format": "orc"})
    commit(engine_warehouse, name, pa.table([[1], [2]], schema=schema))
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    catalog.alter_table(name, [SchemaChange.drop_column(names[0])])
    assert ask(engine, f"SET orc.force.positional.evolution={by_place}").finish
    try:
        for where in ("", f" WHERE {names[1]} = 2"):
            answer = ask(engine, f"SELECT * FROM {name}{where}")
            assert [reading.scan for reading in answer.readings] == [scan]
            assert answer.rows == [{names[1]: 2}]
    finally:
        assert ask(engine, "RESET orc.force.positional.evolution").finish


def test_rows_that_share_a_number_are_left_to_the_library(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Two writers at once number their rows alike, and compaction brings them into one file."""
    name = "orc.shared"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=OPTIONS)
    builder = open_table(engine_warehouse, name).new_batch_write_builder()
    writes = [builder.new_write(), builder.new_write()]
    for write, first in zip(writes, (1, 11), strict=True):
        write.write_arrow(orders(first, 3, "a"))
    for write in writes:
        committing = builder.new_commit()
        committing.commit(write.prepare_commit())
        committing.close()
        write.close()
    judge.compact(engine_warehouse, name)
    assert len(agreed(engine, f"SELECT * FROM {name}")) == 6
    commit(engine_warehouse, name, orders(2, 1, "b"))
    answer = ask(engine, f"SELECT order_id FROM {name} WHERE customer = 'a'")
    assert sorted(row["order_id"] for row in answer.rows) == [1, 3, 11, 12, 13]
    explained = ask(engine, f"EXPLAIN SELECT * FROM {name}").explained
    assert explained.startswith("scan: paimon library (")
    assert about("orc", "sequence numbers").search(explained.partition(")")[0])


def test_a_file_of_which_little_is_left_is_left_to_the_library(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Of 70,000 versions of one key one is left: its file has a number that lies far from the next one's."""
    name = "orc.sparse"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=OPTIONS)
    commit(engine_warehouse, name, orders(1, 1, "a"))
    ids = pa.array([2] * 70_000, pa.int64())
    many = pa.table([ids, ["b"] * 70_000, [1.0] * 70_000], schema=ORDERS)
    commit(engine_warehouse, name, many)
    judge.compact(engine_warehouse, name)
    commit(engine_warehouse, name, orders(2, 1, "c"))
    explained = ask(engine, f"EXPLAIN SELECT * FROM {name}").explained
    assert explained.startswith("scan: paimon library (")
    assert about("few rows", "orc").search(explained.partition(")")[0])
    found = ask(engine, f"SELECT customer FROM {name} ORDER BY order_id").rows
    assert [row["customer"] for row in found] == ["a", "c"]
