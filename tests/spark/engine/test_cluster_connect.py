"""Over Spark Connect, to a real server: tables are read, and what can't be done is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import paimark
from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.engine import connect
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import loaded_jars
from paimark.core.spark.protocol import StageProgress, Start
from tests.interop.judge import Judge
from tests.paimon import commit, create_table
from tests.spark.connect_server import connect_server
from tests.spark.engine_fixture import ask, in_order, rows
from tests.spark.generated_tables import Generated, generate
from tests.spark.test_differential import agree
from tests.wording import about


@pytest.fixture(scope="module")
def remote(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine whose Spark is a server's."""
    directory = tmp_path_factory.mktemp("connect")
    with connect_server(directory / "server", loaded_jars(find_spark({}), {})) as master:
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
    assert [(each.scan, each.version.partition(",")[0]) for each in answer.readings] == [
        ("paimon library", "snapshot.5"),
        ("paimon library", "snapshot.2"),
    ]


@pytest.mark.long
def test_limits_and_what_is_listed(remote: Engine) -> None:
    limited = ask(remote, "SELECT order_id FROM shop.orders ORDER BY order_id", limit=3)
    assert limited.finish.truncated and [row["order_id"] for row in limited.rows] == [1, 2, 3]
    assert in_order(rows(remote, "SHOW TABLES IN shop"))[0]["tableName"] == "events"
    assert [row["tag_name"] for row in rows(remote, "SELECT tag_name FROM shop.`orders$tags`")] == ["v2"]
    for table in ("`orders$files` VERSION AS OF 1", "`orders$operations`"):
        assert "over Spark Connect" in ask(remote, f"SELECT * FROM shop.{table}").failure.message


@pytest.mark.long
def test_every_clause_is_for_the_servers_catalog(remote: Engine) -> None:
    told = ask(remote, "EXPLAIN SELECT * FROM shop.orders VERSION AS OF 2").explained
    assert told.startswith("scan: paimon library shop.orders at snapshot.2")
    counts = {
        "shop.orders AS OF TIMESTAMP '2100-01-01' o": 8,
        "shop.orders FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP - INTERVAL '0' DAY": 8,
        "shop.orders TIMESTAMP AS OF dateadd(DAY, 1, CURRENT_TIMESTAMP(3)) o": 8,
        "shop.orders FOR SYSTEM_VERSION AS OF 1 AS o": 4,
        "shop.orders/*+ OPTIONS('scan.tag-name' = 'v2') */": 5,
        "(TABLE orders VERSION AS OF 1)": 4,
        "orders WHERE current_database() = 'shop' AND shop.orders.price > 0": 8,
        "shop.orders$branch_main": 8,
    }
    for table, count in counts.items():
        assert rows(remote, f"SELECT count(*) AS n FROM {table}", database="shop") == [{"n": count}], table
    period = ask(remote, "SELECT * FROM shop.orders FOR SYSTEM_TIME FROM 1 TO 2").failure
    assert "is a period" in period.message and period.position == 26
    wrong = "SELECT * FROM shop.orders TIMESTAMP AS OF to_date(nix, 'yyyy')"
    column = ask(remote, wrong).failure
    assert "nix names a column" in column.message and column.position == wrong.index("nix")


@pytest.mark.long
def test_what_is_read_is_what_is_told(remote: Engine, engine_warehouse: Path) -> None:
    """A column added after the last commit is there without a version, and not with one."""
    name = "connected.altered"
    create_table(engine_warehouse, name, pa.schema([("k", pa.int32())]))
    assert rows(remote, f"SELECT count(*) AS n FROM {name}") == [{"n": 0}]
    commit(engine_warehouse, name, pa.table({"k": pa.array([1, 2], pa.int32())}))
    paimark.open(engine_warehouse).table(name).alter_branch_schema(add="more INT")
    both = f"SELECT a.k, a.more, b.* FROM {name} a JOIN {name} VERSION AS OF 1 b USING (k) WHERE k > 1"
    assert rows(remote, both) == [{"k": 2, "more": None}]


@pytest.mark.long
def test_rows_are_read_and_what_fails_is_told_in_a_sentence(remote: Engine) -> None:
    """In one test, because the first statement of a server takes half a minute."""
    old = rows(remote, "SELECT count(*) AS n, max(price) AS most FROM shop.orders VERSION AS OF 'v2'")
    assert old == [{"n": 5, "most": 25.0}]
    failure = ask(remote, "SELECT nope FROM shop.orders").failure
    assert "nope" in failure.message and "\n" not in failure.message and "__paimark" not in failure.message
    written = ask(remote, "CREATE TABLE shop.other (a INT)").failure
    assert about("Spark Connect", "queries", "EXPLAIN").search(written.message)
    missing = ask(remote, "SELECT * FROM shop.nowhere").failure
    assert about("no table shop.nowhere").search(missing.message)


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
            agree(random, table, target, remote, engine_warehouse, judge, every_way=False)


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
    with pytest.raises(Unavailable, match=about("no Spark", "sc://127.0.0.1:1")):
        connect.connect(start)
    monkeypatch.setattr(connect, "_PACKAGES", ("grpc", "not_installed.at_all"))
    with pytest.raises(Unavailable, match=about("packages", "not installed", "grpcio")):
        connect.connect(start)


@pytest.mark.long
def test_a_server_without_the_jars_is_refused_with_the_line_to_add(tmp_path: Path) -> None:
    with connect_server(tmp_path / "server") as master:
        engine = Engine(Settings(str(tmp_path), spark_master=master), tmp_path / "engine.log")
        with closing(engine):
            failure = ask(engine, "SELECT 1").failure
    assert about("jars", "extension").search(failure.message)
    assert " --conf spark.sql.extensions=paimark." in failure.hint
    assert " --conf spark.jars=/" in failure.hint
