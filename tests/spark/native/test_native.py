"""Tables on Spark's own readers: the rows of Paimon's library, and no file is read that need not be."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Columns
from tests.conftest import ORDERS
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows
from tests.spark.datasource.test_types import ROWS, SCHEMA
from tests.spark.engine_fixture import ask, by_library, in_order, rows

# Every character that a file system takes and that something on the way might read as more than itself.
HOSTILE = "na tive%20{a,b}[c]*?#&=+$~'\"é"


def read_by(engine: Engine, sql: str, scan: str) -> tuple[list[dict[str, Any]], Columns]:
    answer = ask(engine, sql)
    assert answer.finish.rows == len(answer.rows)
    assert {reading.scan for reading in answer.readings} == {scan}
    return in_order(answer.rows), answer.columns


def read_natively(engine: Engine, sql: str, scan: str = "native") -> list[dict[str, Any]]:
    found, _ = read_by(engine, sql, scan)
    return found


def agreed(engine: Engine, sql: str) -> list[dict[str, Any]]:
    """The rows, which Spark's own readers and Paimon's library give alike, of the same types."""
    found, types = read_by(engine, sql, "native")
    with by_library(engine):
        assert read_by(engine, sql, "paimon library") == (found, types)
    return found


def orders(first: int, count: int, customer: str) -> pa.Table:
    ids = list(range(first, first + count))
    columns = {"order_id": ids, "customer": [customer] * count, "price": [float(i) for i in ids]}
    return pa.table(columns, schema=ORDERS)


def data_files(warehouse: Path, name: str) -> list[Path]:
    database, table = name.split(".")
    return sorted((warehouse / f"{database}.db" / table).rglob("data-*.*"))


# By the format those that only Paimon's library reads.
UNREAD = {
    "parquet": (),
    "orc": ("seconds", "millis", "micros", "moment", "times", "day"),
    "avro": ("seconds", "millis", "micros", "moment", "times", "numbers", "weights", "place"),
}


@pytest.mark.parametrize("file_format", long_but(UNREAD, "parquet"))
def test_every_type_and_partition_reads_alike(
    engine: Engine, engine_warehouse: Path, file_format: str
) -> None:
    """In a table of a hostile name, with partitions of hostile names."""
    name = f"{HOSTILE} {file_format}.t"
    fields = [field for field in SCHEMA if field.name not in UNREAD[file_format]]
    schema = pa.schema([*fields, pa.field("part", pa.string())])
    create_table(
        engine_warehouse, name, schema, partition_keys=["part", "flag"], options={"file.format": file_format}
    )
    names = set(schema.names)
    for part in ("a/b %41{c}", None, "\N{GRINNING FACE}"):
        found = [{**{key: row[key] for key in row if key in names}, "part": part} for row in ROWS]
        commit(engine_warehouse, name, pa.Table.from_pylist(found, schema=schema))
    table = f"`{HOSTILE} {file_format}`.t"
    assert len(agreed(engine, f"SELECT * FROM {table}")) == 9
    # Few rows come another way: read by the engine itself.
    assert len(agreed(engine, f"SELECT * FROM {table} LIMIT 10")) == 9
    # The columns of partitions are not taken from the files.
    (found_parts,) = agreed(engine, f"SELECT count(DISTINCT part) AS n FROM {table} WHERE flag IS NULL")
    assert found_parts == {"n": 2}


@pytest.mark.long
def test_files_of_older_schemas_read_alike(engine: Engine, engine_warehouse: Path) -> None:
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    for name, keys in (("native.evolved", []), ("native.evolved_keys", ["order_id"])):
        create_table(
            engine_warehouse, name, ORDERS, primary_keys=keys, options={"bucket": "1"} if keys else {}
        )
        commit(engine_warehouse, name, orders(1, 4, "old"))
        changes = [
            SchemaChange.rename_column("customer", "who"),
            SchemaChange.add_column("customer", AtomicType("INT")),
            SchemaChange.drop_column("price"),
        ]
        catalog.alter_table(name, changes)
        new = pa.schema([ORDERS.field("order_id"), ("who", pa.string()), ("customer", pa.int32())])
        commit(
            engine_warehouse,
            name,
            pa.table({"order_id": [4, 5], "who": ["n", None], "customer": [7, None]}, new),
        )
        catalog.alter_table(name, [SchemaChange.update_column_type("customer", AtomicType("BIGINT"))])
        found = agreed(engine, f"SELECT * FROM {name}")
        assert len(found) == (5 if keys else 6) and list(found[0]) == ["order_id", "who", "customer"]
        assert {"order_id": 4, "who": "n", "customer": 7} in found
        assert agreed(engine, f"SELECT order_id FROM {name} WHERE customer = 7") == [{"order_id": 4}]
        assert agreed(engine, f"SELECT * FROM {name} LIMIT 9") == found
        assert agreed(engine, f"SELECT customer, 1 FROM {name} VERSION AS OF 1 LIMIT 9")
        assert len(agreed(engine, f"SELECT * FROM {name} VERSION AS OF 1")) == 4


def test_what_cannot_be_read_so_says_why(engine: Engine, engine_warehouse: Path) -> None:
    """And is read by Paimon's own library."""
    name, way = "native.other", "paimon library"
    options = {"bucket": "1", "merge-engine": "partial-update"}
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options=options)
    commit(engine_warehouse, name, orders(1, 3, "a"))
    explained = ask(engine, f"EXPLAIN SELECT * FROM {name}").explained
    assert explained.startswith(f"scan: {way} (merge-engine partial-update) {name} at snapshot.1, ")
    found = read_natively(engine, f"SELECT * FROM {name}", way)
    assert found == in_order(read_rows(engine_warehouse, name))


def test_rows_are_counted_without_a_look_at_files(engine: Engine, engine_warehouse: Path) -> None:
    create_table(engine_warehouse, "native.counted", ORDERS)
    create_table(
        engine_warehouse, "native.merged", ORDERS, primary_keys=["order_id"], options={"bucket": "1"}
    )
    for name in ("native.counted", "native.merged"):
        commit(engine_warehouse, name, orders(1, 5, "a"))
        commit(engine_warehouse, name, orders(4, 5, "b"))
    sql = "SELECT count(*) AS n, (SELECT count(*) FROM native.merged WHERE true) AS m FROM native.counted"
    answer = ask(engine, sql)
    assert answer.rows == [{"n": 10, "m": 8}]
    # Of merged rows the keys are read.
    scans = {reading.table: reading.scan for reading in answer.readings}
    assert scans == {"native.counted": "metadata", "native.merged": "native"}
    with by_library(engine):
        assert rows(engine, sql) == answer.rows
    for path in [
        *data_files(engine_warehouse, "native.counted"),
        *data_files(engine_warehouse, "native.merged"),
    ]:
        path.unlink()
    assert rows(engine, sql) == [{"n": 10, "m": 8}]
    assert ask(engine, "SELECT max(price) FROM native.counted").failure


def test_a_limit_reads_the_files_it_takes(engine: Engine, engine_warehouse: Path) -> None:
    create_table(engine_warehouse, "native.limited", ORDERS)
    for start in (1, 11, 21):
        commit(engine_warehouse, "native.limited", orders(start, 10, "a"))
    kept = {row["order_id"] for row in rows(engine, "SELECT * FROM native.limited LIMIT 4")}
    (start,) = {(number - 1) // 10 * 10 + 1 for number in kept}
    for path in data_files(engine_warehouse, "native.limited"):
        if pq.read_table(path)["order_id"][0].as_py() != start:
            path.unlink()
    assert len(rows(engine, "SELECT customer FROM native.limited LIMIT 10")) == 10
    assert len(ask(engine, "SELECT * FROM native.limited", limit=3).rows) == 3
    for more in ("LIMIT 11", "WHERE order_id % 2 = 0 LIMIT 3", "ORDER BY order_id LIMIT 3"):
        assert ask(engine, f"SELECT * FROM native.limited {more}").failure


def test_a_key_reads_the_files_that_may_have_it(engine: Engine, engine_warehouse: Path) -> None:
    name = "native.keyed"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options={"bucket": "1"})
    commit(engine_warehouse, name, orders(1, 10, "a"))
    commit(engine_warehouse, name, orders(5, 10, "b"))
    commit(engine_warehouse, name, orders(12, 10, "c"))
    wanted = {4: "a", 5: "b", 13: "c", 21: "c"}
    sql = f"SELECT order_id, customer FROM {name} WHERE order_id IN ({', '.join(map(str, wanted))})"
    expected = [{"order_id": key, "customer": customer} for key, customer in sorted(wanted.items())]
    assert agreed(engine, sql) == in_order(expected)
    # What a newer version of a row no longer says must not be found by what the older said.
    assert agreed(engine, f"SELECT order_id FROM {name} WHERE order_id < 6 AND customer = 'a'") == [
        {"order_id": number} for number in range(1, 5)
    ]
    copy = "native.keyed_copy"
    shutil.copytree(engine_warehouse / "native.db" / "keyed", engine_warehouse / "native.db" / "keyed_copy")
    for path in data_files(engine_warehouse, copy):
        if pq.read_table(path)["order_id"][0].as_py() != 1:
            path.unlink()
    assert rows(engine, f"SELECT customer FROM {copy} WHERE order_id = 4") == [{"customer": "a"}]
    many = ", ".join(map(str, range(-30, 5)))
    assert len(rows(engine, f"SELECT customer FROM {copy} WHERE order_id IN ({many})")) == 4
    assert ask(engine, f"SELECT customer FROM {copy} WHERE order_id = 5").failure


def test_a_key_of_an_early_day_is_found(engine: Engine, engine_warehouse: Path) -> None:
    schema = pa.schema([pa.field("day", pa.date32(), nullable=False), ("note", pa.string())])
    name = "native.days"
    create_table(engine_warehouse, name, schema, primary_keys=["day"], options={"bucket": "1"})
    days = [dt.date(1, 1, 1), dt.date(1582, 10, 4), dt.date(2026, 5, 1)]
    commit(engine_warehouse, name, pa.table({"day": days, "note": ["a", "b", "c"]}, schema=schema))
    for day, note in zip(days, "abc", strict=True):
        found = agreed(engine, f"SELECT note FROM {name} WHERE day = DATE'{day.isoformat()}'")
        assert found == [{"note": note}]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_deleted_rows_are_gone(engine: Engine, engine_warehouse: Path, file_format: str) -> None:
    schema, name = ORDERS.append(pa.field("kind", pa.string())), f"native.deleted_{file_format}"
    options = {"bucket": "1", "rowkind.field": "kind", "file.format": file_format}
    create_table(engine_warehouse, name, schema, primary_keys=["order_id"], options=options)
    for kinds in (["+I"] * 3, ["-D", "+U", "-D"]):
        added = {"order_id": [1, 2, 3], "customer": kinds, "price": [1.0] * 3, "kind": kinds}
        commit(engine_warehouse, name, pa.table(added, schema=schema))
    assert [row["order_id"] for row in agreed(engine, f"SELECT * FROM {name}")] == [2]
    assert agreed(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 1}]
    assert agreed(engine, f"SELECT * FROM {name} WHERE order_id = 3") == []
    assert [row["order_id"] for row in agreed(engine, f"SELECT * FROM {name} LIMIT 5")] == [2]


def test_a_few_rows_with_fine_times(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """In 96 bits, of which pyarrow made the year 2554."""
    judge.create(engine_warehouse, "native.fine", {"t": "TIMESTAMP(9)"})
    judge.put(engine_warehouse, "native.fine", [("+I", [-1])])
    answer = ask(engine, "SELECT t FROM native.fine LIMIT 1")
    assert [each.scan for each in answer.readings] == ["native"]
    assert answer.rows == [{"t": dt.datetime(1969, 12, 31, 23, 59, 59, 999999)}]


def test_columns_that_are_called_like_ours_hold_their_own_values(
    engine: Engine, engine_warehouse: Path
) -> None:
    """Spark's readers gave the number of the file, and the partition's value."""
    name, names = (
        "native.ours",
        ["__paimon_file", "__PAIMON_partition_p", "__paimon_row", "_tmp_metadata_row_index", "p"],
    )
    schema = pa.schema([(each, pa.string()) for each in names])
    create_table(engine_warehouse, name, schema, partition_keys=["p"])
    for number in range(2):
        row = {each: f"{each} {number}" for each in names} | {"p": "a"}
        commit(engine_warehouse, name, pa.Table.from_pylist([row], schema=schema))
    expected = in_order(read_rows(engine_warehouse, name))
    assert in_order(rows(engine, f"SELECT * FROM {name}")) == expected
    condition = "__paimon_file = '__paimon_file 1' AND __paimon_partition_p = '__PAIMON_partition_p 1'"
    assert rows(engine, f"SELECT count(*) AS n FROM {name} WHERE {condition}") == [{"n": 1}]


@pytest.mark.parametrize("setting", ["ignoreMissingFiles", "ignoreCorruptFiles"])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_lost_or_broken_file_is_an_error_whatever_the_session_says(
    file_format: str, setting: str, engine: Engine, engine_warehouse: Path
) -> None:
    """A rewrite of the rows that are left would make the loss one for good."""
    name = f"native.{setting}_{file_format}".lower()
    options = {"file.format": file_format}
    create_table(engine_warehouse, name, ORDERS, options=options)
    for numbers in (range(300), range(300, 600)):
        columns = [numbers, ["x" * 50] * 300, [0.5] * 300]
        commit(engine_warehouse, name, pa.table(dict(zip(ORDERS.names, columns, strict=True)), schema=ORDERS))
    sql = f"SELECT sum(order_id) AS n FROM {name}"
    assert rows(engine, sql) == [{"n": sum(range(600))}]
    lost, *_ = (engine_warehouse / "native.db" / name.split(".")[1]).rglob("data-*")
    if setting == "ignoreMissingFiles":
        lost.unlink()
    else:
        lost.write_bytes(lost.read_bytes()[:4] + b"?" * (lost.stat().st_size - 4))
    try:
        assert ask(engine, f"SET spark.sql.files.{setting}=true").finish
        assert lost.name in ask(engine, sql).failure.message
    finally:
        assert ask(engine, f"RESET spark.sql.files.{setting}").finish


def test_the_first_rows_of_big_files_are_merged_by_a_glance_at_them(
    engine: Engine, engine_warehouse: Path
) -> None:
    """Of deleted rows at the start more is looked at."""
    schema, name = ORDERS.append(pa.field("kind", pa.string())), "native.big"
    options = {"bucket": "1", "rowkind.field": "kind"}
    create_table(engine_warehouse, name, schema, primary_keys=["order_id"], options=options)
    count = 60_000
    for customer, kinds in (
        ("a", ["+I"] * count),
        ("b", ["-D"] * 5_000 + ["+U"] * (count - 5_000)),
    ):
        columns = [range(count), [customer] * count, [1.0] * count, kinds]
        commit(engine_warehouse, name, pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema))
    few = read_natively(engine, f"SELECT order_id, customer FROM {name} LIMIT 7")
    assert [row["customer"] for row in few] == ["b"] * 7
    assert len({row["order_id"] for row in few}) == 7 and min(row["order_id"] for row in few) >= 5_000
    assert len(read_natively(engine, f"SELECT customer FROM {name} LIMIT 2000")) == 2_000
    assert read_natively(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": count - 5_000}]
    assert len(read_natively(engine, f"SELECT customer FROM {name} LIMIT 1999")) == 1_999
