"""Which Spark is started, and what spark-defaults.conf says."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import find_spark, other_version, pyspark_version

_DEFAULTS = r"""
# A comment
! Another
spark.master            spark://head:7077
spark.executor.memory=2g
spark.a : b c  \
    d
spark.path C:\\x\u00e9\tend
not.spark  1
spark.empty
"""


def test_the_spark_that_came_with_pyspark() -> None:
    found = find_spark({})
    assert found.home == Path(pyspark.__file__).parent and found.configuration == found.home / "conf"
    assert any(each.name.startswith("spark-core") for each in found.jars)
    assert found.defaults() == {} and other_version(found.home) == ""


def test_a_spark_of_another_version_is_left_aside_but_its_configuration_holds(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(_DEFAULTS)
    assert other_version(tmp_path) == "3.5.1"
    found = find_spark({"SPARK_HOME": str(tmp_path)})
    assert found.home == Path(pyspark.__file__).parent and found.configuration == tmp_path / "conf"
    assert found.defaults() == {
        "spark.master": "spark://head:7077",
        "spark.executor.memory": "2g",
        "spark.a": "b c  d",
        "spark.path": "C:\\xé\tend",
        "spark.empty": "",
    }


def test_a_spark_of_the_same_line_is_taken(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    line = ".".join(pyspark_version().split(".")[:2])
    (tmp_path / "jars" / f"spark-core_2.13-{line}.99.jar").touch()
    found = find_spark({"SPARK_HOME": str(tmp_path), "SPARK_CONF_DIR": "/etc/spark"})
    assert found.home == tmp_path and found.configuration == Path("/etc/spark")


def test_defaults_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_bytes(b"spark.a \xff")
    with pytest.raises(Unavailable, match=r"spark-defaults\.conf can't be read"):
        find_spark({"SPARK_CONF_DIR": str(tmp_path)}).defaults()
