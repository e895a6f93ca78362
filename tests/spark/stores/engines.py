"""Engines whose warehouses are in stores, with the template's tables in them."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.stores.jars import directory_of, fetch, jar_sets
from paimark.core.storage.open import open_files
from tests.actions.acting import contents
from tests.interop.stock import ToolMissing
from tests.once import once_a_run
from tests.spark.stores.faulty import Door
from tests.storage.stores import BUCKET, S3Server

_SETS = ("s3",)
# Long enough to be looked for.
SECRET = "a-secret-key-of-s3"


@pytest.fixture(scope="session")
def store_jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetched as a user would, once for all processes of a run. Without Maven and a network tests skip."""
    directory, _ = once_a_run(tmp_path_factory, "jars", _fetched, "jars to read stores with")
    _look_for_jars_in(directory)
    return directory


def _fetched(directory: Path, run: int) -> str:
    if shutil.which("mvn") is None:
        raise ToolMissing("Maven is needed: mvn on PATH")
    directory.chmod(0o700)
    try:
        for name in _SETS:
            found = fetch(jar_sets()[name], find_spark(), {}, lambda: find_java().executable)
            shutil.copytree(found, directory / name)
    except Unavailable as error:
        raise ToolMissing(error.message) from error
    return "fetched"


def _look_for_jars_in(directory: Path) -> None:
    for name in _SETS:
        place = directory_of(jar_sets()[name])
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not place.exists():
            place.symlink_to(directory / name)


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
