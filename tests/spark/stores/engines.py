"""Engines whose warehouses are in stores, with the template's tables in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.storage.open import open_files
from tests.actions.acting import contents
from tests.spark.stores.faulty import Door
from tests.storage.stores import BUCKET, S3Server

# Long enough to be looked for.
SECRET = "a-secret-key-of-s3"


@contextmanager
def engine_on(settings: Settings, template: Path, log: Path) -> Iterator[Engine]:
    """An engine on a warehouse with the template's tables."""
    upload(template, settings)
    engine = Engine(settings, log)
    try:
        yield engine
    finally:
        engine.close()


def upload(warehouse: Path, settings: Settings) -> None:
    """Put a warehouse's files into the one of the settings, below the same names."""
    files = open_files(settings.warehouse, settings.options)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: files.create(*item), contents(warehouse).items()))


@pytest.fixture(scope="session")
def door(s3: S3Server) -> Iterator[Door]:
    """The way that the engine takes to the S3 of the suite."""
    with Door(s3.endpoint) as door:
        yield door


@pytest.fixture(scope="session")
def on_s3(
    s3: S3Server,
    door: Door,
    store_jars: Path,
    warehouse_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    """Spark on the S3 of the suite."""
    uri = f"s3://{BUCKET}/warehouse-{uuid.uuid4().hex[:6]}"
    conf = {"spark.driver.memory": "1g"}
    options = {**s3.options(door.endpoint), "s3.secret-key": SECRET}
    settings = Settings(uri, options=options, spark_master="local[2]", spark_conf=conf)
    with engine_on(settings, warehouse_template, tmp_path_factory.mktemp("log") / "engine.log") as engine:
        yield engine


@pytest.fixture(scope="session")
def on_hdfs(
    hdfs: str, warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Spark on the HDFS of the suite."""
    conf = {"spark.driver.memory": "1g"}
    settings = Settings(f"{hdfs}/warehouse-{uuid.uuid4().hex[:6]}", spark_master="local[2]", spark_conf=conf)
    with engine_on(settings, warehouse_template, tmp_path_factory.mktemp("log") / "engine.log") as engine:
        yield engine
