"""`paimark doctor` says, without starting anything, which jars Spark's own readers lack for a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.cli.checks.doctor_store import on_paper
from paimark.core.config import Settings
from paimark.core.spark.stores.jars import directory_of, jar_sets
from tests.wording import about


@pytest.fixture(autouse=True)
def _cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def findings(warehouse: str, **conf: str) -> list[tuple[str, ...]]:
    spark_conf = {name.replace("_", "."): value for name, value in conf.items()}
    return [tuple(each) for each in on_paper(Settings(warehouse, spark_conf=spark_conf))]


def test_jars_that_were_not_fetched_are_told_with_the_command() -> None:
    [(state, detail, hint)] = findings("s3://lake/w")
    assert state == "warning" and about("no client", "s3").search(detail)
    assert about("`paimark jars fetch s3`", "--spark-conf 'spark.jars=").search(hint)
    assert findings("/a/directory") == []
    [(state, detail, hint)] = findings("memory://x")
    assert (state, hint) == ("warning", "") and about("no client", "memory").search(detail)
    assert about("client", "HDFS", "Hadoop 3.").search(findings("hdfs://n:1/w")[0][1])


def test_a_jar_that_was_changed_is_told_by_name() -> None:
    known = jar_sets()["s3"]
    directory = directory_of(known)
    directory.mkdir(parents=True, mode=0o700)
    (directory / known.jars[0].name).write_bytes(b"no jar")
    [(state, detail, hint)] = findings("s3://lake/w")
    assert state == "warning" and "`paimark jars fetch s3`" in hint
    assert about(known.jars[0].name, "SHA-256").search(detail)


@pytest.mark.parametrize(
    ("names", "state", "told"),
    [
        (["hadoop-aws-3.4.2.jar", "s3-transfer-manager-2.jar"], "ok", ("hadoop-aws-3.4.2.jar", "settings")),
        (["hadoop-aws-3.4.2.jar", "bundle-2.29.52.jar"], "ok", ("hadoop-aws-3.4.2.jar", "settings")),
        (["hadoop-aws-3.4.2.jar"], "warning", ("hadoop-aws", "s3-transfer-manager", "not")),
        (
            ["hadoop-aws-3.3.4.jar"],
            "warning",
            ("hadoop-aws-3.3.4.jar", "Hadoop 3.3.4", "Hadoop 3.4"),
        ),
    ],
)
def test_jars_of_ones_own_are_looked_at(
    names: list[str], state: str, told: tuple[str, ...], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).touch()
    [(found, detail, _)] = findings("s3://lake/w", spark_jars=f"{tmp_path}/*.jar")
    assert found == state and about(*told).search(detail)


def test_packages_of_another_hadoop_are_told() -> None:
    [(state, detail, _)] = findings("s3://lake/w", spark_jars_packages="org.apache.hadoop:hadoop-aws:3.3.4")
    assert state == "warning" and about("hadoop-aws-3.3.4.jar", "Hadoop 3.3.4").search(detail)
    [(state, detail, _)] = findings(
        "s3://lake/w", spark_jars_packages="a:b:1,org.apache.hadoop:hadoop-aws:3.4.2"
    )
    assert state == "ok" and about("hadoop-aws-3.4.2.jar", "settings").search(detail)
