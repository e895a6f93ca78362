"""Over Spark Connect, to a real server: tables are read, and what can't be done is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config import Settings
from core.errors import Unavailable
from core.spark.client.client import Engine
from core.spark.engine.remote import connect
from core.spark.protocol import StageProgress, Start
from tests.spark.connect_server import connect_server
from tests.spark.engine_fixture import ask, in_order, rows


@pytest.fixture(scope="module")
def remote(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine whose Spark is a server's."""
    directory = tmp_path_factory.mktemp("connect")
    with connect_server(directory / "server") as master:
        engine = Engine(Settings(str(engine_warehouse), spark_master=master), directory / "engine.log")
        yield engine
        engine.close()


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


def test_limits_and_what_is_listed(remote: Engine) -> None:
    limited = ask(remote, "SELECT order_id FROM shop.orders ORDER BY order_id", limit=3)
    assert limited.finish.truncated and [row["order_id"] for row in limited.rows] == [1, 2, 3]
    assert in_order(rows(remote, "SHOW TABLES IN shop"))[0]["tableName"] == "events"
    assert [row["tag_name"] for row in rows(remote, "SELECT tag_name FROM shop.`orders$tags`")] == ["v2"]


def test_explain_says_why_the_source_serves(remote: Engine) -> None:
    told = ask(remote, "EXPLAIN SELECT * FROM shop.orders VERSION AS OF 2").explained
    assert told.startswith("scan: python source (a Spark that is reached by Connect")
    assert "shop.orders" in told and "__paimark" not in told


def test_an_error_is_a_sentence(remote: Engine) -> None:
    failure = ask(remote, "SELECT nope FROM shop.orders").failure
    assert "nope" in failure.message and "\n" not in failure.message and "__paimark" not in failure.message


def test_nothing_is_written(remote: Engine) -> None:
    failure = ask(remote, "CREATE TABLE shop.other (a INT)").failure
    assert failure.message == "Over Spark Connect queries and EXPLAIN run, and no other statement"


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
