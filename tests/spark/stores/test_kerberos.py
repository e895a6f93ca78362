"""Spark on HDFS that takes Kerberos tickets alone: by a ticket, also one that comes late, and by a keytab."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.storage.known_options import KEYTAB, PRINCIPAL
from tests.spark.engine_fixture import Answer, ask, by_library, in_order
from tests.spark.stores.engines import upload
from tests.storage.hadoop.conftest import secure
from tests.storage.hadoop.secure_server import SecureHdfs

__all__ = ["secure"]
SQL = "SELECT * FROM shop.orders VERSION AS OF 5"

pytestmark = pytest.mark.long


@pytest.fixture
def on_secure(
    secure: SecureHdfs, warehouse_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Engine]]:
    """Engines of somebody whose ticket cache is `tmp_path/cache`, which is not there yet."""
    for name, value in secure.environment().items():
        monkeypatch.setenv(name, value)
    warehouse = f"hdfs://lake/lake/{uuid.uuid4().hex}"
    upload(warehouse_template, Settings(warehouse))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/cache")
    conf = {"spark.driver.memory": "1g"}

    def engine(**options: str) -> Engine:
        settings = Settings(warehouse, options=options, spark_master="local[2]", spark_conf=conf)
        return Engine(settings, tmp_path / "engine.log")

    yield engine


def all_ways(engine: Engine) -> None:
    """By Spark's own readers, and by Paimon's library."""
    answers: list[Answer] = [ask(engine, SQL)]
    with by_library(engine):
        answers.append(ask(engine, SQL))
    assert [answer.readings[0].scan for answer in answers] == ["native", "paimon library"]
    first, second = (in_order(answer.rows) for answer in answers if answer.finish)
    assert first == second and len(first) == 8


def test_a_ticket_that_comes_after_spark_started(
    on_secure: Callable[..., Engine], secure: SecureHdfs, tmp_path: Path
) -> None:
    with closing(on_secure()) as engine:
        engine.wait_ready(200)
        failure = ask(engine, SQL).failure
        assert "No Kerberos credentials" in failure.message
        assert failure.hint.startswith("Run `kinit`")
        shutil.copy(secure.directory / "alice.cache", tmp_path / "cache")
        all_ways(engine)


def test_a_keytab_without_any_ticket(on_secure: Callable[..., Engine], secure: SecureHdfs) -> None:
    login = {PRINCIPAL: "alice@LAKE.TEST", KEYTAB: f"{secure.directory}/alice.keytab"}
    with closing(on_secure(**login)) as engine:
        engine.wait_ready(200)
        all_ways(engine)
