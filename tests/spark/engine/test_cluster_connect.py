"""Over Spark Connect, to a real server: tables are read, and what can't be done is said."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.engine.remote import connect
from paimark.core.spark.protocol import StageProgress, Start
from tests.interop.judge import Judge
from tests.paimon import commit, create_table
from tests.spark.connect_server import connect_server
from tests.spark.engine_fixture import ask, in_order, rows
from tests.spark.generated_tables import Generated, generate
from tests.spark.test_differential import agree


@pytest.fixture(scope="module")
def remote(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine whose Spark is a server's."""
    directory = tmp_path_factory.mktemp("connect")
    with connect_server(directory / "server") as master:
        engine = Engine(Settings(str(engine_warehouse), spark_master=master), directory / "engine.log")
        yield engine
        engine.close()


@pytest.mark.long
def test_time_travel_in_a_join(remote: Engine) -> None:
    answer = ask(
        remote,
        """SELECT n.order_id, n.price - o.price AS more FROM shop.orders n
           JOIN shop.orders VERSION AS OF 'snapshot.2' o ON n.order_id = o.order_id""",
    )
    assert answer.finish.rows == 5
    assert {row["order_id"]: row["more"] for row in answer.rows} == {
        1: 0.0,
        2: 0.0,
        3: 10.0,
        4: 20.0,
        5: 30.0,
    }
    assert {each.scan for each in answer.readings} == {"python source"}


@pytest.mark.long
def test_limits_and_what_is_listed(remote: Engine) -> None:
    limited = ask(remote, "SELECT order_id FROM shop.orders ORDER BY order_id", limit=3)
    assert limited.finish.truncated and [row["order_id"] for row in limited.rows] == [1, 2, 3]
    assert in_order(rows(remote, "SHOW TABLES IN shop"))[0]["tableName"] == "events"
    assert [row["tag_name"] for row in rows(remote, "SELECT tag_name FROM shop.`orders$tags`")] == ["v2"]


@pytest.mark.long
def test_explain_says_why_the_source_serves(remote: Engine) -> None:
    told = ask(remote, "EXPLAIN SELECT * FROM shop.orders VERSION AS OF 2").explained
    assert told.startswith("scan: python source (a Spark that is reached by Connect")
    assert "shop.orders" in told and "__paimark" not in told


def test_rows_are_read_and_what_fails_is_told_in_a_sentence(remote: Engine) -> None:
    """In one test, because the first statement of a server takes half a minute."""
    old = rows(remote, "SELECT count(*) AS n, max(price) AS most FROM shop.orders VERSION AS OF 'v2'")
    assert old == [{"n": 5, "most": 25.0}]
    failure = ask(remote, "SELECT nope FROM shop.orders").failure
    assert "nope" in failure.message and "\n" not in failure.message and "__paimark" not in failure.message
    written = ask(remote, "CREATE TABLE shop.other (a INT)").failure
    assert written.message == "Over Spark Connect queries and EXPLAIN run, and no other statement"


@pytest.mark.long
def test_only_columns_that_a_query_needs_are_read(remote: Engine, engine_warehouse: Path) -> None:
    """The others can't be: their pages are zeros in every file."""
    name = "connected.narrow"
    schema = pa.schema([(column, pa.int32()) for column in ("k", "a", "b", "c")])
    create_table(engine_warehouse, name, schema)
    commit(engine_warehouse, name, pa.table({each: [1, 2, 3] for each in schema.names}, schema=schema))
    for path in (engine_warehouse / "connected.db" / "narrow").rglob("*.parquet"):
        spoil(path, "b")
        spoil(path, "c")
    assert [row["a"] for row in rows(remote, f"SELECT a FROM {name} WHERE k >= 2 ORDER BY k")] == [2, 3]
    assert rows(remote, f"SELECT count(*) AS n FROM {name}") == [{"n": 3}]
    twice = f"WITH t AS (SELECT * FROM {name}) SELECT x.a FROM t x JOIN t y ON x.k = y.a WHERE x.k = 1"
    assert rows(remote, twice) == [{"a": 1}]
    assert "Invalid data" in ask(remote, f"SELECT max(b) FROM {name}").failure.message


def spoil(path: Path, column: str) -> None:
    chunks = pq.ParquetFile(path).metadata.row_group(0)
    chunk = next(
        each for each in map(chunks.column, range(chunks.num_columns)) if each.path_in_schema == column
    )
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(data)


@pytest.mark.long
def test_only_files_that_a_condition_leaves_are_read(remote: Engine, engine_warehouse: Path) -> None:
    name = "connected.days"
    schema = pa.schema([("day", pa.string()), ("kind", pa.string())])
    create_table(engine_warehouse, name, schema, partition_keys=["day"])
    for day in ("1", "2"):
        commit(engine_warehouse, name, pa.table({"day": [day], "kind": [f"k{day}"]}, schema=schema))
    shutil.rmtree(engine_warehouse / "connected.db" / "days" / "day=1")
    assert rows(remote, f"SELECT kind FROM {name} WHERE day = '2'") == [{"kind": "k2"}]
    both = f"SELECT x.kind FROM {name} x, {name} y WHERE x.day = '2' AND y.day = '2'"
    assert rows(remote, both) == [{"kind": "k2"}]
    assert "is not there" in ask(remote, f"SELECT kind FROM {name}").failure.message


STATEMENTS = [
    "SELECT customer, count(*) AS n, max(price) AS p FROM shop.orders GROUP BY 1 HAVING max(price) > 50",
    "SELECT * FROM shop.orders WHERE customer IN (SELECT customer FROM shop.orders WHERE order_id = 3)",
    "WITH o AS (SELECT * FROM shop.orders) SELECT a.price FROM o a LEFT JOIN o b ON a.order_id = b.order_id "
    "+ 1 WHERE a.order_id > 2 AND b.customer IS NOT NULL",
    "SELECT order_id, rank() OVER (PARTITION BY customer ORDER BY price) AS r FROM shop.orders",
    "SELECT struct(o.*).price AS p, to_json(struct(o.*)) AS j FROM shop.orders o WHERE price > 20",
    "SELECT (SELECT max(price) FROM shop.orders WHERE order_id < 4) AS m FROM shop.events WHERE kind IS NULL",
    "SELECT order_id FROM shop.orders WHERE false",
    "SELECT 'paimark_0_column_1_' AS mark, count(kind) AS n, count(DISTINCT day) AS d FROM shop.events",
    "SELECT a.order_id FROM shop.orders a WHERE NOT EXISTS (SELECT 1 FROM shop.orders VERSION AS OF 1 b "
    "WHERE b.order_id = a.order_id AND b.price > 0)",
    "SELECT day, customer FROM shop.events, shop.orders UNION ALL SELECT kind, day FROM shop.events",
]


@pytest.mark.long
def test_the_same_rows_as_without_connect(remote: Engine, engine: Engine) -> None:
    for sql in STATEMENTS:
        assert in_order(rows(remote, sql)) == in_order(rows(engine, sql)), sql


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(1001, 1041, 10))
def test_generated_tables(first: int, remote: Engine, engine_warehouse: Path, judge: Judge) -> None:
    """Questions to ten tables, as `test_differential` asks them."""
    for seed in range(first, first + 10):
        table, random = Generated(seed), Random(seed)
        generate(table, engine_warehouse, judge)
        for target in table.targets:
            agree(random, table, target, remote, engine_warehouse, judge)


@pytest.mark.long
def test_a_cancel_reaches_the_server(remote: Engine) -> None:
    events = remote.run("SELECT count(*) FROM range(1000000000000)")
    for event in events:
        if isinstance(event, StageProgress):
            remote.cancel()
            break
    *_, end = events
    assert getattr(end, "cause", "") == "cancelled"
    assert rows(remote, "SELECT 1 AS one") == [{"one": 1}]


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start = Start(str(tmp_path), {}, "sc://127.0.0.1:1", {}, str(tmp_path), False)
    with pytest.raises(Unavailable, match="There is no Spark at sc://127"):
        connect.connect(start)
    monkeypatch.setattr(connect, "_PACKAGES", ("grpc", "not_installed.at_all"))
    with pytest.raises(Unavailable, match="packages that are not installed here"):
        connect.connect(start)
