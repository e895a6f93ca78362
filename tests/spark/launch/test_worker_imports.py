"""What Python workers import from: neither Spark's jar nor the zip of its home, which cost each task time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from paimark.core.spark.datasource.reader import leave_out_spark_jar
from paimark.core.spark.launch.home import find_spark


def test_only_sparks_own_jar_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (jar,) = (find_spark({}).home / "jars").glob("spark-core_*.jar")
    # A user's jar may hold Python.
    theirs = str(tmp_path / "theirs.jar")
    monkeypatch.setattr(sys, "path", [str(jar), theirs, *sys.path, str(jar)])
    monkeypatch.setitem(sys.path_importer_cache, str(jar), None)
    leave_out_spark_jar()
    assert str(jar) not in [*sys.path, *sys.path_importer_cache]
    assert sys.path[0] == theirs
