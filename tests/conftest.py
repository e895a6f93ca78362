"""Fixtures: one warehouse of real tables, built once and copied for each test that asks."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from botocore.loaders import create_loader

from paimark.core.demo.build import build_demo
from paimark.core.spark.launch.session_settings import WARM_UP
from tests.copying import copied
from tests.interop.judge_fixture import judge
from tests.once import once_a_run
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import INTERPRETED, engine, engine_warehouse, mortal
from tests.spark.lake.foreign_spark import far_house, foreign_spark
from tests.spark.library.session import library_session
from tests.spark.standalone import SPARING
from tests.spark.stores.jars_fixture import store_jars
from tests.storage.hadoop.hdfs_fixture import hdfs, hdfs_in_safe_mode
from tests.storage.stores import S3Server, s3_server

# A fixture that several modules import is another one in each: those that cost much are here.
__all__ = [
    "engine",
    "engine_warehouse",
    "far_house",
    "foreign_spark",
    "hdfs",
    "hdfs_in_safe_mode",
    "judge",
    "mortal",
    "store_jars",
]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from paimark.core.spark.launch.session import Spark

pytest_plugins = [
    "tests.isolation",
    "tests.long",
    "tests.running.library_answers",
    "tests.running.scheduling",
    "tests.running.spending",
]

ORDERS = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        pa.field("customer", pa.string()),
        pa.field("price", pa.float64()),
    ]
)
EVENTS = pa.schema([pa.field("day", pa.string()), pa.field("kind", pa.string())])
_numbers: defaultdict[str, Iterator[int]] = defaultdict(count)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's own, which looks at the directories of all earlier tests to find the next number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(_numbers[name])}", numbered=False)


@pytest.fixture(autouse=True)
def _secrets_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that one test gave is an ordinary word in the next."""
    monkeypatch.setattr("paimark.core.redaction._kept", set())


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's day is not UTC's."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Tests kill processes and not machines: what was written is there for all, flushed or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_an_expiry() -> Iterator[None]:
    """Here none began before a tag that is still deleting: the five seconds are told, and not waited."""

    def told(seconds: float, progress: Callable[[str], None]) -> None:
        if seconds:
            progress(f"waiting {seconds:g} s for an expiry")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paimark.core.actions.roots.pin_snapshot.wait_for_expiry", told)
        yield


@pytest.fixture(scope="session", autouse=True)
def _sparing_java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engines start often here and run little: the second compiler would take a third of their CPU time.

    And what they do before they are asked would be for nothing.
    """
    place = tmp_path_factory.mktemp("spark-conf")
    (place / "spark-defaults.conf").write_text(f"spark.driver.extraJavaOptions {SPARING}\n{WARM_UP} off\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(place))
        yield


@pytest.fixture(scope="session")
def spark_here(tmp_path_factory: pytest.TempPathFactory, is_long: bool) -> Iterator[Spark]:
    """A Spark of this process, with Paimon's library."""
    settings = {} if is_long else INTERPRETED
    with library_session(tmp_path_factory.mktemp("library-spark"), settings) as spark:
        yield spark


@pytest.fixture(scope="session")
def spark_of_library(spark_here: Spark) -> SparkSession:
    return spark_here.session


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server, pytest.MonkeyPatch.context() as patch:
        # Each test opens its store anew: a client would read a megabyte of what the service is every time.
        patch.setattr("botocore.session.create_loader", cache(create_loader))
        yield server


@pytest.fixture(scope="session")
def demo_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo warehouse, one for all processes: for reading, and for copies that tests may change."""

    def make(directory: Path, run: int) -> str:
        build_demo(directory / "paimark-demo", lambda line: None)
        return ""

    directory, _ = once_a_run(tmp_path_factory, "demo", make, "demo")
    return directory / "paimark-demo"


@pytest.fixture(scope="session")
def warehouse_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shop.orders` (primary key, 2 buckets, 5 snapshots, tag `v2` at 2); `shop.events` (append, by day)."""
    path = tmp_path_factory.mktemp("template") / "warehouse"
    create_table(path, "shop.orders", ORDERS, primary_keys=["order_id"], options={"bucket": "2"})
    for number in range(1, 6):
        ids = list(range(number, number + 4))
        rows = {
            "order_id": ids,
            "customer": [f"c{i % 3}" for i in ids],
            "price": [number * 10.0 + i for i in ids],
        }
        commit(path, "shop.orders", pa.table(rows, schema=ORDERS))
    open_table(path, "shop.orders").create_tag("v2", 2)
    create_table(path, "shop.events", EVENTS, partition_keys=["day"])
    for day in ("2026-05-01", "2026-05-02"):
        rows = {"day": [day] * 3, "kind": ["click", "view", None]}
        commit(path, "shop.events", pa.table(rows, schema=EVENTS))
    return path


@pytest.fixture
def warehouse(warehouse_template: Path, tmp_path: Path) -> Path:
    """A private copy of the template: tests may change it."""
    return copied(warehouse_template, tmp_path / "warehouse")
