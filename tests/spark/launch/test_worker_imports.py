"""What Python workers import from: neither Spark's jar nor the zip of its home, which cost each task time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.spark.client.client import Engine
from core.spark.datasource.worker_imports import leave_out_spark_jar
from core.spark.launch.home import find_spark
from tests.spark.client.test_engine import processes_of
from tests.spark.engine_fixture import by_pypaimon, rows


def test_workers_import_the_installed_pyspark(engine: Engine) -> None:
    assert find_spark({}).is_of_pyspark
    with by_pypaimon(engine):
        rows(engine, "SELECT order_id FROM shop.orders")
    workers = [pid for pid, command in processes_of(engine) if "daemon pyspark." in command]
    assert workers
    for pid in workers:
        given = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"PYTHONPATH=" in given and b"pyspark.zip" not in given


def test_only_sparks_own_jar_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (jar,) = (find_spark({}).home / "jars").glob("spark-core_*.jar")
    # A user's jar may hold Python.
    theirs = str(tmp_path / "theirs.jar")
    monkeypatch.setattr(sys, "path", [str(jar), theirs, *sys.path, str(jar)])
    monkeypatch.setitem(sys.path_importer_cache, str(jar), None)
    leave_out_spark_jar()
    assert str(jar) not in [*sys.path, *sys.path_importer_cache]
    assert sys.path[0] == theirs
