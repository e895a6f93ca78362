"""The engine's jar and that of Paimon's library: which are loaded, and what is said if one is missing."""

from __future__ import annotations

import fcntl
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.java import sources
from paimark.core.spark.launch import building, jars
from paimark.core.spark.launch.cds import SWITCH
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.stores.jars import directory_of, jar_sets
from tests.conftest import ORDERS
from tests.paimon import commit, create_table
from tests.spark.client.test_engine import processes_of
from tests.spark.engine_fixture import ask, rows
from tests.wording import about


def test_a_jar_of_other_sources_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jars.engine_jar() == sources.JAR
    (tmp_path / "paimark").mkdir()
    (tmp_path / "paimark/Some.java").write_text("class Some {}")
    for module, name, value in (
        (sources, "ROOT", tmp_path),
        (sources, "JAR", tmp_path / "engine.jar"),
        (jars, "JAR", tmp_path / "engine.jar"),
    ):
        monkeypatch.setattr(module, name, value)
    with pytest.raises(Unavailable, match="jar is missing") as told:
        jars.engine_jar()
    assert "make setup" in told.value.hint
    sources.write_jar(tmp_path / "classes")
    assert jars.engine_jar() == tmp_path / "engine.jar"
    (tmp_path / "paimark/Some.java").write_text("class Some { }")
    with pytest.raises(Unavailable, match="sources are newer"):
        jars.engine_jar()


@pytest.mark.long
def test_the_jar_is_of_its_sources_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "JAR", tmp_path / "engine.jar")
    building.build()
    with zipfile.ZipFile(tmp_path / "engine.jar") as made, zipfile.ZipFile(jars.engine_jar()) as kept:
        assert made.namelist() == kept.namelist()
        assert [name for name in made.namelist() if made.read(name) != kept.read(name)] == []


@pytest.mark.long
def test_what_the_compiler_finds_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paimark").mkdir()
    (tmp_path / "paimark/Wrong.java").write_text("package paimark; class Wrong { int n = true; }")
    for name, value in (("ROOT", tmp_path), ("JAR", tmp_path / "engine.jar")):
        monkeypatch.setattr(sources, name, value)
    with pytest.raises(Unavailable, match=r"(?s)can't be compiled.*Wrong.java.*boolean"):
        building.build()
    assert not sources.JAR.exists()


def test_the_library_is_the_named_one_or_sparks_or_the_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = find_spark()
    [fetched], release = jars.paimon_jar(spark, {})
    assert (fetched.name, release) == ("paimon-bundle-1.4.2.jar", jar_sets()["paimon"].version)
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/paimon-spark-4.0_2.13-2.0.0.jar").touch()
    assert jars.paimon_jar(SparkHome(tmp_path, tmp_path), {}) == ([], "2.0.0")
    named = tmp_path / "paimon-bundle-1.5-SNAPSHOT.jar"
    named.touch()
    assert jars.paimon_jar(spark, {"paimon.jar": str(named)}) == ([named], "1.5-SNAPSHOT")
    for wrong in (tmp_path, tmp_path / "paimon-bundle-9.jar", fetched.with_name("other.jar")):
        with pytest.raises(Unavailable, match=about(f"paimon.jar={wrong}", "library")):
            jars.paimon_jar(spark, {"paimon.jar": str(wrong)})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert jars.paimon_jar(spark, {}) == ([], "")


def test_a_library_that_is_damaged_is_said_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = directory_of(jar_sets()["paimon"])
    directory.mkdir(parents=True, mode=0o700)
    (directory / "paimon-bundle-1.4.2.jar").write_bytes(b"half a jar")
    assert jars.loaded_jars(find_spark(), {}) == [sources.JAR]
    told = capsys.readouterr().err
    assert about("SHA-256", "`paimark jars fetch paimon`").search(told)
    with pytest.raises(Unavailable, match=about(f"paimon.jar={tmp_path}", "library")):
        jars.loaded_jars(find_spark(), {"paimon.jar": str(tmp_path)})


def test_a_library_that_is_too_old_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "paimon-bundle-1.3.1.jar"
    old.touch()
    with pytest.raises(Unavailable, match=about("Paimon 1.3.1", "1.4", "newer")):
        jars.paimon_jar(find_spark(), {"paimon.jar": str(old)})


def test_what_spark_itself_brings_is_told_where_it_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays first: to fetch another one is of no use."""
    assert "`paimark jars fetch paimon`" in jars.no_library()[1]
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/paimon-bundle-1.0.1.jar").touch()
    monkeypatch.setattr(jars, "find_spark", lambda: SparkHome(tmp_path, tmp_path))
    assert jars.no_library()[1] == jars.library_missing()[1]
    newer = ("paimon-bundle-1.0.1.jar", "old", "1.4", "newer", tmp_path / "jars")
    assert about(*newer).search(jars.no_library()[1])


@pytest.fixture(scope="module")
def bare(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine without the library, the first of a user who has no archive of Java's classes.

    Somebody else makes one all the time, so that it makes none when it ends.
    """
    place = tmp_path_factory.mktemp("bare")
    warehouse, archives = place / "warehouse", place / "cache/paimark/java"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        patch.setenv(SWITCH, "on")
        damaged = directory_of(jar_sets()["paimon"])
        damaged.mkdir(parents=True, mode=0o700)
        (damaged / "paimon-bundle-1.4.2.jar").write_bytes(b"half a jar")
        shutil.copytree(warehouse_template, warehouse)
        options = {"bucket": "1", "merge-engine": "partial-update"}
        create_table(warehouse, "shop.merged", ORDERS, primary_keys=["order_id"], options=options)
        some = {"order_id": [1], "customer": ["a"], "price": [1.0]}
        commit(warehouse, "shop.merged", pa.table(some, schema=ORDERS))
        archives.mkdir(mode=0o700)
        # Hadoop's file system is elsewhere, and does not answer: the warehouse is none of it.
        conf = {"spark.paimark.warmUp": "off", "spark.hadoop.fs.defaultFS": "hdfs://127.0.0.1:9"}
        settings = Settings(str(warehouse), spark_master="local[1]", spark_conf=conf)
        with (archives / "lock").open("w") as lock, closing(Engine(settings, place / "engine.log")) as engine:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield engine


def test_tables_that_need_the_library_are_refused_with_the_command_that_fetches_it(bare: Engine) -> None:
    for sql in ("SELECT * FROM shop.merged", "EXPLAIN SELECT * FROM shop.merged"):
        failure = ask(bare, sql).failure
        reason = ("merge-engine partial-update", "Spark", "none")
        assert about("shop.merged", "library", *reason).search(failure.message)
        assert "`paimark jars fetch paimon`" in failure.hint
        assert failure.position == len(sql) - len("shop.merged")
    native = ask(bare, "SELECT * FROM shop.orders VERSION AS OF 5 WHERE order_id = 6")
    assert native.finish.rows == 1 and native.readings[0].scan == "native"
    assert len(rows(bare, "SELECT * FROM shop.`merged$snapshots`")) == 1


def test_the_first_engine_lists_its_classes_for_an_archive(bare: Engine) -> None:
    bare.wait_ready()
    assert bare._process is not None
    listed = bare._process.scratch / "loaded-classes"
    assert any(f"-XX:DumpLoadedClassList={listed}" in command for _, command in processes_of(bare))
    assert "org/apache/spark/SparkContext" in listed.read_text()
