"""What Python workers import from: neither Spark's jar nor the zip of its home, which cost each task time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from paimark.core.spark.datasource.worker_imports import leave_out_spark_jar
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.worker_daemon import use_hadoop_files_of_driver


def test_only_sparks_own_jar_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (jar,) = (find_spark({}).home / "jars").glob("spark-core_*.jar")
    # A user's jar may hold Python.
    theirs = str(tmp_path / "theirs.jar")
    monkeypatch.setattr(sys, "path", [str(jar), theirs, *sys.path, str(jar)])
    monkeypatch.setitem(sys.path_importer_cache, str(jar), None)
    leave_out_spark_jar()
    assert str(jar) not in [*sys.path, *sys.path_importer_cache]
    assert sys.path[0] == theirs


def test_python_in_a_container_of_yarn_reads_the_files_of_the_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    use_hadoop_files_of_driver()
    assert os.environ["HADOOP_CONF_DIR"] == "/etc/hadoop"
    files = tmp_path / "__spark_conf__" / "__hadoop_conf__"
    files.mkdir(parents=True)
    use_hadoop_files_of_driver()
    assert os.environ["HADOOP_CONF_DIR"] == str(files)
