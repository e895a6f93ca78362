"""A ResourceManager of YARN that is not named, or not there, is told at once: Spark would look for long."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.masters import managers, require_master
from tests.wording import about

RM = "yarn.resourcemanager."
TWO = {"ha.enabled": "true", "ha.rm-ids": "a,b"}


def site(directory: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment with a yarn-site.xml of these settings."""
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>{properties}</configuration>")
    return {"HADOOP_CONF_DIR": str(directory)}


def test_yarn_needs_its_configuration(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=about("YARN's configuration", "not known")):
        require_master("yarn", {}, {})
    with pytest.raises(Unavailable, match=about("YARN_CONF_DIR=/nope", "no directory")):
        require_master("yarn", {}, {"YARN_CONF_DIR": "/nope"})
    with pytest.raises(Unavailable, match=rf"^HADOOP_CONF_DIR={tmp_path} has no yarn-site\.xml$"):
        require_master("yarn", {}, {"HADOOP_CONF_DIR": str(tmp_path)})


def test_hadoop_may_have_several_directories(tmp_path: Path) -> None:
    """As `/etc/hadoop/conf:/etc/hive/conf`: on Java's class path the first file of a name counts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        [directory] = site(tmp_path, {f"{RM}address": place}).values()
        require_master("yarn", {}, {"HADOOP_CONF_DIR": f"/nope:{directory}"})
    with pytest.raises(Unavailable, match=about("no ResourceManager", place)):
        require_master("yarn", {}, {"HADOOP_CONF_DIR": f"/nope:{directory}"})
    (tmp_path / "yarn-site.xml").unlink()
    with pytest.raises(Unavailable, match=about(f"HADOOP_CONF_DIR=/nope:{directory}", "no yarn-site.xml")):
        require_master("yarn", {}, {"HADOOP_CONF_DIR": f"/nope:{directory}"})


def test_a_resource_manager_that_is_not_there_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        require_master("yarn", {}, site(tmp_path, {f"{RM}address": place}))
        # Spark's own settings come before the file's.
        by_spark = {f"spark.hadoop.{RM}address": place}
        require_master("yarn", by_spark, site(tmp_path, {f"{RM}address": "127.0.0.1:1"}))
        require_master("yarn", by_spark, {"HADOOP_CONF_DIR": "/nope"})
        either = {f"{RM}ha.enabled": "true", f"{RM}ha.rm-ids": "a, b", f"{RM}address.a": "127.0.0.1:1"}
        require_master("yarn", {}, site(tmp_path, either | {f"{RM}address.b": place}))
    with pytest.raises(Unavailable, match=about("no ResourceManager", place)) as told:
        require_master("yarn", {}, site(tmp_path, {f"{RM}address": place}))
    assert "HADOOP_CONF_DIR" in told.value.hint
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>hadoop.socks.server</name><value>p:1</value></property></configuration>"
    )
    require_master("yarn", {}, {"HADOOP_CONF_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("settings", "places"),
    [
        ({}, []),
        ({"hostname": "rm"}, ["rm:8032"]),
        ({"hostname": "rm", "address": "${yarn.resourcemanager.hostname}:9032"}, ["rm:9032"]),
        ({"address": "${env.RM}:9032"}, []),
        (
            {"ha.enabled": "true", "ha.rm-ids": "a,b", "hostname.a": "x", "address.b": "y:1"},
            ["x:8032", "y:1"],
        ),
        ({"ha.enabled": "true", "ha.rm-ids": "a,b", "hostname.a": "x"}, []),
    ],
)
def test_where_the_files_say_that_they_are(settings: dict[str, str], places: list[str]) -> None:
    assert managers({RM + name: value for name, value in settings.items()}) == places
