"""`paimark doctor` says, without starting anything, which jars Spark's own readers lack for a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.cli.checks.doctor_store import on_paper
from paimark.core.config import Settings
from paimark.core.spark.stores.jars import directory_of, jar_sets

HINT = "Run `paimark jars fetch s3`, or give them with --spark-conf 'spark.jars=/dir/*.jar'."


@pytest.fixture(autouse=True)
def _cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def findings(warehouse: str, **conf: str) -> list[tuple[str, ...]]:
    spark_conf = {name.replace("_", "."): value for name, value in conf.items()}
    return [tuple(each) for each in on_paper(Settings(warehouse, spark_conf=spark_conf))]


def test_jars_that_were_not_fetched_are_told_with_the_command() -> None:
    assert findings("s3://lake/w") == [("warning", "Spark has no client for s3", HINT)]
    assert findings("/a/directory") == []
    assert findings("memory://x") == [("warning", "Spark has no client for memory", "")]
    assert findings("hdfs://n:1/w")[0][1].startswith("Spark brings the client of HDFS, of Hadoop 3.")


def test_a_jar_that_was_changed_is_told_by_name() -> None:
    known = jar_sets()["s3"]
    directory = directory_of(known)
    directory.mkdir(parents=True, mode=0o700)
    (directory / known.jars[0].name).write_bytes(b"no jar")
    [(state, detail, hint)] = findings("s3://lake/w")
    assert (state, hint) == ("warning", "Run `paimark jars fetch s3` again.")
    assert detail.startswith(f"{known.jars[0].name} is not the jar that it should be")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["hadoop-aws-3.4.2.jar", "s3-transfer-manager-2.jar"], "hadoop-aws-3.4.2.jar, of your own settings"),
        (["hadoop-aws-3.4.2.jar", "bundle-2.29.52.jar"], "hadoop-aws-3.4.2.jar, of your own settings"),
        (["hadoop-aws-3.4.2.jar"], "hadoop-aws is among your jars, and s3-transfer-manager is not"),
        (
            ["hadoop-aws-3.3.4.jar"],
            "hadoop-aws-3.3.4.jar is of Hadoop 3.3.4, and Spark here brings Hadoop 3.4",
        ),
    ],
)
def test_jars_of_ones_own_are_looked_at(names: list[str], expected: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    [(state, detail, _)] = findings("s3://lake/w", spark_jars=f"{tmp_path}/*.jar")
    assert detail.startswith(expected)
    assert state == ("ok" if "own settings" in expected else "warning")


def test_packages_of_another_hadoop_are_told() -> None:
    [(state, detail, _)] = findings("s3://lake/w", spark_jars_packages="org.apache.hadoop:hadoop-aws:3.3.4")
    assert (state, detail[:39]) == ("warning", "hadoop-aws-3.3.4.jar is of Hadoop 3.3.4")
    [(state, detail, _)] = findings(
        "s3://lake/w", spark_jars_packages="a:b:1,org.apache.hadoop:hadoop-aws:3.4.2"
    )
    assert (state, detail) == ("ok", "hadoop-aws-3.4.2.jar, of your own settings")
