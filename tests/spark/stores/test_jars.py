"""Jars are fetched from the repository that the user named; only the very ones that are meant are kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from paimark.core.cli.main import run
from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.stores.jars import (
    REPOSITORIES,
    Jar,
    JarSet,
    cached_jars,
    directory_of,
    fetch,
    jar_sets,
)
from paimark.core.spark.stores.launching import prepared
from tests.wording import about

ACCESSED = "spark.kerberos.access.hadoopFileSystems"
BYTES = b"not really a jar"
PLACE = "org.example:thing:1.0"
RIGHT = Jar(PLACE, hashlib.sha256(BYTES + b"thing-1.0.jar").hexdigest())
# One of two jars of the same name and version.
WHOLE = Jar(f"{PLACE}:whole", hashlib.sha256(BYTES + b"thing-1.0-whole.jar").hexdigest())


@pytest.fixture(autouse=True)
def _cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path: Path) -> dict[str, str]:
    """Spark's setting that names a repository with one jar."""
    place = tmp_path / "repository/org/example/thing/1.0"
    place.mkdir(parents=True)
    for name in ("thing-1.0.jar", "thing-1.0-whole.jar"):
        (place / name).write_bytes(BYTES + name.encode())
    (place / "thing-1.0.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
        "<artifactId>thing</artifactId><version>1.0</version></project>"
    )
    return {REPOSITORIES: (tmp_path / "repository").as_uri()}


def jars(*some: Jar) -> JarSet:
    return JarSet("s3", "Hadoop", find_spark().hadoop, "a test", some)


def java() -> Path:
    return find_java().executable


def test_what_was_fetched_is_there_for_good(repository: dict[str, str]) -> None:
    assert cached_jars(jars(RIGHT)) == []
    directory = fetch(jars(RIGHT), find_spark(), repository, java)
    assert [path.read_bytes() for path in cached_jars(jars(RIGHT))] == [BYTES + b"thing-1.0.jar"]
    assert [path.name for path in directory.iterdir()] == ["thing-1.0.jar"]
    # Once is enough: no repository is asked again.
    assert fetch(jars(RIGHT), find_spark(), {REPOSITORIES: "file:/nowhere"}, java) == directory
    assert not [path for path in directory.parent.iterdir() if path != directory]


@pytest.mark.long
def test_of_two_jars_of_one_version_the_one_with_the_classifier_is_fetched(
    repository: dict[str, str],
) -> None:
    directory = fetch(jars(WHOLE), find_spark(), repository, java)
    assert [path.name for path in directory.iterdir()] == ["thing-1.0-whole.jar"]


def test_a_jar_that_is_another_is_refused_by_name(repository: dict[str, str]) -> None:
    wrong = jars(Jar(PLACE, "0" * 64))
    with pytest.raises(Unavailable, match=about("thing-1.0.jar", "SHA-256")):
        fetch(wrong, find_spark(), repository, java)
    assert not directory_of(wrong).exists()


def test_a_jar_that_was_changed_later_is_not_used(
    repository: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = jars(RIGHT)
    monkeypatch.setattr("paimark.core.spark.stores.launching.jar_sets", lambda: {"s3": known})
    hadoop = known.version
    place = fetch(known, find_spark(), repository, java)
    assert prepared({}, "s3://lake/w", {}, hadoop).jars == [place / "thing-1.0.jar"]
    assert prepared({}, "hdfs://n:1/w", {}, hadoop).jars == []
    assert prepared({}, "s3://lake/w", {}, "3.3.6").jars == []
    # Executors elsewhere get them by Spark.
    shipped = prepared({"spark.jars": "/mine.jar", "spark.master": "yarn"}, "s3://lake/w", {}, hadoop)
    assert (shipped.jars, shipped.settings["spark.jars"]) == ([], f"/mine.jar,{place / 'thing-1.0.jar'}")
    # A user's own are not doubled.
    assert prepared({"spark.jars": "/opt/thing-2.jar"}, "s3://lake/w", {}, hadoop).jars == []
    (place / "thing-1.0.jar").write_bytes(b"else")
    assert prepared({}, "s3://lake/w", {}, hadoop).jars == []
    assert about("thing-1.0.jar", "SHA-256").search(capsys.readouterr().err)
    fetch(known, find_spark(), repository, java)
    assert cached_jars(known)
    place.chmod(0o777)
    with pytest.raises(Unavailable, match=about("others", "jars")):
        cached_jars(known)


@pytest.mark.long
def test_a_repository_that_lacks_one_is_told(repository: dict[str, str], tmp_path: Path) -> None:
    settings = tmp_path / "settings.xml"
    root = repository[REPOSITORIES]
    settings.write_text(
        '<ivysettings><settings defaultResolver="a"/><resolvers>'
        f'<ibiblio name="a" m2compatible="true" root="{root}"/></resolvers></ivysettings>'
    )
    lacking = jars(Jar("org.example:other:2.0", "0" * 64))
    with pytest.raises(Unavailable) as told:
        fetch(lacking, find_spark(), {"spark.jars.ivySettings": str(settings)}, java)
    assert about("Ivy", "s3", "org.example#other;2.0: not found").search(told.value.message)
    with pytest.raises(Unavailable, match=about("no file /none.xml")):
        fetch(lacking, find_spark(), {"spark.jars.ivySettings": "/none.xml"}, java)


def test_jars_of_another_hadoop_are_refused_with_the_line_that_fits() -> None:
    other = jars(RIGHT)._replace(version="3.3.6")
    with pytest.raises(Unavailable, match=about("Hadoop 3.3.6")) as told:
        fetch(other, find_spark(), {}, java)
    assert "--spark-conf spark.jars.packages=org.example:thing:" in told.value.hint


def test_where_jars_cannot_be_kept_is_told(
    repository: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a home that can't be written; it was a fault of our own, and on a full disk one of the output."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    place = directory_of(jars(RIGHT))
    with pytest.raises(Unavailable, match=about("jars", place, "Not a directory")) as told:
        fetch(jars(RIGHT), find_spark(), repository, java)
    assert "XDG_CACHE_HOME" in told.value.hint


def test_the_command_lists_and_plans(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["jars", "--output", "json"]) == 0
    assert '"name":"s3"' in capsys.readouterr().out
    assert run(["jars", "fetch", "s3", "--dry-run"]) == 0
    assert "org.apache.hadoop:hadoop-aws:" in capsys.readouterr().err
    assert not directory_of(jar_sets()["s3"]).exists()
    assert [run(["jars", *words]) for words in (["fetch"], ["fetch", "x"], ["list", "s3"])] == [2, 2, 2]


def test_every_list_is_whole() -> None:
    for each in jar_sets().values():
        assert len({jar.name for jar in each.jars}) == len(each.jars) > 0
        assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in each.jars)
    client, *rest = (jar.place for jar in jar_sets()["s3"].jars)
    assert client.startswith("org.apache.hadoop:hadoop-aws:")
    assert any("s3-transfer-manager" in place for place in rest)


def test_kerberos_and_the_directory_of_hadoops_files_are_there_before_java_starts() -> None:
    options = {
        "hdfs.conf-dir": "/etc/hadoop",
        "security.kerberos.login.principal": "me",
        "security.kerberos.login.keytab": "/k",
        "hadoop.security.authentication": "kerberos",
    }
    found = prepared({"spark.kerberos.keytab": "/mine"}, "hdfs://n:1/w", options, "3.4.2")
    assert found.environment == {"HADOOP_CONF_DIR": "/etc/hadoop"}
    assert (
        found.settings.items()
        >= {
            "spark.kerberos.principal": "me",
            "spark.kerberos.keytab": "/mine",
            "spark.hadoop.hadoop.security.authentication": "kerberos",
        }.items()
    )


@pytest.mark.parametrize(
    ("warehouse", "given", "accessed"),
    [
        ("hdfs://n:1/w", {}, "hdfs://n:1"),
        ("viewfs://lake/w", {}, "viewfs://lake"),
        ("hdfs://n:1/w", {ACCESSED: "hdfs://mine, hdfs://other/"}, "hdfs://mine,hdfs://other/,hdfs://n:1"),
        ("hdfs://n:1/w", {ACCESSED: "hdfs://n:1"}, "hdfs://n:1"),
        # Spark ignores its older names once the newer one is set.
        ("hdfs://n:1/w", {"spark.yarn.access.namenodes": "hdfs://mine"}, "hdfs://mine,hdfs://n:1"),
        ("hdfs:///w", {ACCESSED: "hdfs://mine"}, "hdfs://mine"),
        ("hdfs:///w", {}, None),
        ("/w", {}, None),
    ],
)
def test_executors_get_a_token_for_the_warehouse(
    warehouse: str, given: dict[str, str], accessed: str | None
) -> None:
    assert prepared(given, warehouse, {}, "3.4.2").settings.get(ACCESSED) == accessed
