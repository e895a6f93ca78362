"""Which settings Spark starts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.launch.settings import _cgroup_limits, driver_memory, machine_memory, spark_settings

GIB = 1 << 30


def test_what_the_user_set_wins(tmp_path: Path) -> None:
    conf = {"spark.sql.shuffle.partitions": "16", "spark.driver.memory": "3g", "spark.master": "local[7]"}
    settings = spark_settings(None, conf, tmp_path)
    assert {name: settings[name] for name in conf} == conf
    assert spark_settings("local[1]", conf, tmp_path)["spark.master"] == "local[1]"


def test_a_cluster_is_not_bound_to_this_machines_loopback(tmp_path: Path) -> None:
    assert spark_settings(None, {}, tmp_path)["spark.driver.bindAddress"] == "127.0.0.1"
    for master, conf in (("yarn", {}), (None, {"spark.master": "spark://host:7077"})):
        assert "spark.driver.bindAddress" not in spark_settings(master, conf, tmp_path)


def test_everything_spark_writes_is_in_the_scratch_directory(tmp_path: Path) -> None:
    settings = spark_settings(None, {}, tmp_path)
    assert Path(settings["spark.local.dir"]).is_relative_to(tmp_path)
    # Spark would make a path without a scheme in the file system of the machine's Hadoop.
    scheme, _, path = settings["spark.sql.warehouse.dir"].partition("://")
    assert scheme == "file" and Path(path).is_relative_to(tmp_path)


@pytest.mark.parametrize(("total", "expected"), [(2 * GIB, GIB), (16 * GIB, 4 * GIB), (256 * GIB, 8 * GIB)])
def test_java_gets_a_share_of_the_memory(total: int, expected: int) -> None:
    assert driver_memory(total) == expected


def test_the_machine_has_memory() -> None:
    assert machine_memory() > 100 << 20


def test_the_limits_of_the_groups_around_a_process_count(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("12:cpu:/x\n9:memory:/docker/a\n0::/user.slice/b.scope\n")
    found = {str(each.relative_to(tmp_path)) for each in _cgroup_limits(tmp_path, own)}
    assert {"user.slice/b.scope/memory.max", "user.slice/memory.max", "memory.max"} <= found
    assert {"memory/docker/a/memory.limit_in_bytes", "memory/memory.limit_in_bytes"} <= found
    assert not any("x/" in each for each in found)
    assert {str(each) for each in _cgroup_limits(tmp_path, tmp_path / "none")} == {
        f"{tmp_path}/memory.max",
        f"{tmp_path}/memory/memory.limit_in_bytes",
    }
