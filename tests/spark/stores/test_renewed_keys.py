"""Keys that end while Spark runs: the next statement reads with those that replaced them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import EXECUTORS_TIMEOUT
from tests.spark.engine_fixture import ask, by_library, in_order, rows
from tests.spark.standalone import SPARING, standalone
from tests.spark.stores.engines import engine_on
from tests.spark.stores.faulty import Door
from tests.storage.stores import BUCKET, S3Server

# Appended and merged rows; on a cluster tasks read both.
QUERIES = (
    "SELECT * FROM shop.events WHERE kind IS NOT NULL",
    "SELECT customer, sum(price + order_id) AS total FROM shop.orders VERSION AS OF 5 GROUP BY customer",
    "SELECT * FROM old WHERE price > 0",
)
# Read where it is planned, from files that tasks read before; and merged by tasks.
LOOKUP = "SELECT * FROM shop.orders WHERE order_id = 6"
UNREAD = "SELECT * FROM shop.orders VERSION AS OF 4"


class Keys:
    """The keys of a profile, and those that the store takes."""

    def __init__(self, door: Door, file: Path) -> None:
        self.door, self._file = door, file

    def replace(self, key: str) -> None:
        """Other keys, as `aws sso login` or a program that runs every hour writes them."""
        self.end()
        self._file.write_text(
            f"[default]\naws_access_key_id = {key}\naws_secret_access_key = s\naws_session_token = of-{key}\n"
        )
        self.door.keys = {key}

    def end(self) -> None:
        self.door.keys = set()
        self.door.served.clear()


@pytest.fixture
def keys(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with Door(s3.endpoint) as door:
        yield Keys(door, tmp_path / "credentials")


@contextmanager
def engine_with(keys: Keys, template: Path, master: str, log: Path, **conf: str) -> Iterator[Engine]:
    """An engine without keys in its options."""
    settings = Settings(
        f"s3://{BUCKET}/warehouse-{uuid.uuid4().hex[:6]}",
        options={"s3.endpoint": keys.door.endpoint, "s3.region": "us-east-1"},
        spark_master=master,
        spark_conf={"spark.driver.memory": "1g", **conf},
    )
    with engine_on(settings, template, log) as engine:
        yield engine


@pytest.mark.long
def test_on_this_machine(keys: Keys, store_jars: Path, warehouse_template: Path, tmp_path: Path) -> None:
    keys.replace("first")
    with engine_with(keys, warehouse_template, "local[2]", tmp_path / "engine.log") as engine:
        check_renewal(keys, engine)


@pytest.mark.long
def test_on_a_cluster(keys: Keys, store_jars: Path, warehouse_template: Path, tmp_path: Path) -> None:
    keys.replace("first")
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": SPARING,
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": SPARING,
        EXECUTORS_TIMEOUT: "60 s",
    }
    log = tmp_path / "engine.log"
    with (
        standalone(tmp_path / "spark") as cluster,
        engine_with(keys, warehouse_template, cluster.master, log, **conf) as engine,
    ):
        check_renewal(keys, engine)


def check_renewal(keys: Keys, engine: Engine) -> None:
    rows(engine, "CREATE TEMPORARY VIEW old AS SELECT * FROM shop.orders VERSION AS OF 2")
    with by_library(engine):
        rows(engine, "CREATE TEMPORARY VIEW by_others AS SELECT * FROM shop.orders VERSION AS OF 2")
        rows(engine, "CACHE TABLE kept AS SELECT * FROM shop.orders VERSION AS OF 3")
    before = read(engine)
    viewed = {view: in_order(rows(engine, f"SELECT * FROM {view}")) for view in ("by_others", "kept")}
    lookup = rows(engine, LOOKUP)
    keys.end()
    for sql in (*QUERIES, LOOKUP, UNREAD):
        failure = ask(engine, sql).failure
        assert "Expired" in failure.message or "expired" in failure.message, (sql, failure)
        assert failure.hint.startswith("Sign in again")
        assert "Exception" not in failure.message + failure.hint
    for key in ("second", "third"):
        keys.replace(key)
        assert read(engine) == before
        assert {name for name, _ in keys.door.served} == {key}
        assert any("Hadoop" in client for _, client in keys.door.served)
        assert in_order(rows(engine, "SELECT * FROM by_others")) == viewed["by_others"]
        assert {name for name, _ in keys.door.served} == {key}
        keys.door.served.clear()
        assert in_order(rows(engine, "SELECT * FROM kept")) == viewed["kept"]
        assert not keys.door.served
    assert rows(engine, LOOKUP) == lookup
    merged = rows(engine, UNREAD)
    with by_library(engine):
        assert in_order(rows(engine, UNREAD)) == in_order(merged)
    assert not [each for each in rows(engine, "SET -v") if "of-third" in repr(each)]


def read(engine: Engine) -> list[list[dict[str, Any]]]:
    answers = [ask(engine, sql) for sql in QUERIES]
    assert all(answer.finish.rows for answer in answers)
    assert {reading.scan for answer in answers for reading in answer.readings} == {"native"}
    return [in_order(answer.rows) for answer in answers]
