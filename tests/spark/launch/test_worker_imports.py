"""What Java and the Python workers of the engine load: what statements need, as each start pays for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from paimark.core.spark.datasource.reader import leave_out_spark_jar
from paimark.core.spark.java.objects import has_classes, java_class
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.launch.jvm import jars_of, workers_find_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = {"spark.master": "local[2]"}


def test_only_sparks_own_jar_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (jar,) = (find_spark({}).home / "jars").glob("spark-core_*.jar")
    # A user's jar may hold Python.
    theirs = str(tmp_path / "theirs.jar")
    monkeypatch.setattr(sys, "path", [str(jar), theirs, *sys.path, str(jar)])
    monkeypatch.setitem(sys.path_importer_cache, str(jar), None)
    leave_out_spark_jar()
    assert str(jar) not in [*sys.path, *sys.path_importer_cache]
    assert sys.path[0] == theirs


def test_workers_import_pyspark_as_it_is_installed(spark_of_library: SparkSession) -> None:
    """Not from the archive in Spark's home: they would compile it, and list it again at each task."""

    utils = java_class(spark_of_library._jvm, "org.apache.spark.api.python.PythonUtils")
    assert [Path(each).suffix for each in utils.sparkPythonPath().split(os.pathsep)] == [".jar"]


@pytest.mark.parametrize(
    ("settings", "python", "theirs"),
    [
        (LOCAL, sys.executable, False),
        ({"spark.master": "spark://there:7077"}, sys.executable, False),
        ({**LOCAL, "spark.pyspark.python": "/opt/python3"}, sys.executable, False),
        (LOCAL, "/opt/python3", False),
        (LOCAL, sys.executable, True),
    ],
)
def test_other_workers_are_told_where_pyspark_is(
    settings: dict[str, str], python: str, theirs: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", python)
    home = SparkHome(tmp_path, tmp_path) if theirs else find_spark({})
    is_plain = settings == LOCAL and python == sys.executable and not theirs
    assert workers_find_pyspark(home, settings) is is_plain


def test_machine_learning_is_loaded_for_code_of_the_users(spark_of_library: SparkSession) -> None:
    home = find_spark({})
    learning = {path for path in home.jars if path.name.startswith("spark-mllib_")}
    assert {*jars_of(home, LOCAL)} == {*home.jars} - learning
    assert jars_of(home, {**LOCAL, "spark.jars": "mine.jar"}) == home.jars
    assert len(learning) == 1
    assert not has_classes(spark_of_library._jvm, "org.apache.spark.ml.Pipeline")
    assert has_classes(spark_of_library._jvm, "org.apache.spark.ml.linalg.Vectors")
