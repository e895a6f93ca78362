"""What spark-submit takes from the environment and from spark-env.sh is taken here as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch import jvm
from paimark.core.spark.launch.home import SparkHome, load_spark_env
from paimark.core.spark.launch.session import require_possible
from paimark.core.spark.launch.settings import spark_settings
from tests.wording import about


def loaded(directory: Path, script: str, **environment: str) -> dict[str, str]:
    directory.joinpath("spark-env.sh").write_text(script)
    given = {"PATH": os.environ["PATH"], **environment}
    load_spark_env(SparkHome(Path("/opt/spark"), directory), given)
    return given


def test_what_it_sets_is_taken_exported_or_not(tmp_path: Path) -> None:
    script = """
    echo "a line that is no setting"
    HADOOP_CONF_DIR=$SPARK_HOME/hadoop
    export ODD="two
    lines = here"
    """
    found = loaded(tmp_path, script, KEPT="1")
    assert found["HADOOP_CONF_DIR"] == "/opt/spark/hadoop"
    assert found["ODD"] == "two\n    lines = here"
    assert found["KEPT"] == "1" and "PWD" not in found and "_" not in found


def test_it_is_read_once(tmp_path: Path) -> None:
    assert "A" not in loaded(tmp_path, "A=1", SPARK_ENV_LOADED="1")
    tmp_path.joinpath("spark-env.sh").unlink()
    environment: dict[str, str] = {}
    load_spark_env(SparkHome(Path("/opt/spark"), tmp_path), environment)
    assert not environment


def test_one_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=about("spark-env.sh", "exit code 3")):
        loaded(tmp_path, "exit 3")
    with pytest.raises(Unavailable, match=about("spark-env.sh", "bash")):
        loaded(tmp_path, "A=1", PATH=str(tmp_path))


def test_hadoop_of_the_machine_is_on_the_class_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"):
        monkeypatch.setenv(name, f"/etc/{name}")
    jar = tmp_path / "jars" / "spark-core_2.13-4.1.4.jar"
    jar.parent.mkdir()
    jar.touch()
    spark = SparkHome(tmp_path, tmp_path)
    path = jvm._class_path(spark, {"spark.driver.extraClassPath": "/own/*"}, [])
    assert path == [
        "/own/*",
        str(jar),
        str(tmp_path),
        "/etc/HADOOP_CONF_DIR",
        "/etc/YARN_CONF_DIR",
        "/etc/SPARK_DIST_CLASSPATH",
    ]


def test_options_and_memory_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Da=1 -Db='2 3'")
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    assert jvm._java_options({"spark.driver.extraJavaOptions": "-Dc=4"}) == ["-Dc=4", "-Da=1", "-Db=2 3"]
    assert spark_settings(None, {}, tmp_path)["spark.driver.memory"] == "3g"
    assert spark_settings(None, {"spark.driver.memory": "2g"}, tmp_path)["spark.driver.memory"] == "2g"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"spark.submit.deployMode": "cluster"}, r"^spark\.submit\.deployMode=cluster "),
        ({"spark.api.mode": "connect"}, r"^spark\.api\.mode "),
        ({"spark.remote": "sc://x"}, r"^spark\.remote "),
        (
            {"spark.kerberos.keytab": "/k"},
            r"^spark\.kerberos\.keytab .*spark\.kerberos\.principal",
        ),
        (
            {"spark.yarn.principal": "me"},
            r"^spark\.kerberos\.principal .*spark\.kerberos\.keytab",
        ),
        (
            {"spark.kerberos.keytab": "/nowhere/k", "spark.kerberos.principal": "me@REALM"},
            r"^spark\.kerberos\.keytab=/nowhere/k ",
        ),
    ],
)
def test_what_can_not_be_done_is_refused_by_name(settings: dict[str, str], said: str) -> None:
    with pytest.raises(Unavailable, match=said):
        require_possible(settings)


def test_the_rest_is_sparks(tmp_path: Path) -> None:
    keytab = tmp_path / "keytab"
    keytab.touch()
    require_possible(
        {
            "spark.submit.deployMode": "client",
            "spark.api.mode": "classic",
            "spark.kerberos.keytab": str(keytab),
            "spark.kerberos.principal": "me@REALM",
        }
    )
