"""Jars of compiled classes in the cache directory: whole or none, this user's, and so many at most."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimark.core.spark.compiling import jar_cache
from paimark.core.spark.compiling.jar_cache import jar_path, keep_jar, read_jar

_CLASSES = {"Scans": b"\xca\xfe\xba\xbe" * 100, "Scans$1": b"inner" * 50}


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = jar_path(str(tmp_path / "spark-key"), "Scans", "ab" * 32)
    keep_jar(path, _CLASSES)
    return path


def test_what_was_kept_is_read(jar: Path) -> None:
    assert read_jar(jar) == _CLASSES
    assert [each.name for each in jar.parent.iterdir()] == ["spark-key-Scans-abababababababababab.jar"]
    # Two starts at once keep the same.
    keep_jar(jar, _CLASSES)
    assert read_jar(jar) == _CLASSES


def test_other_sources_and_another_spark_have_another_jar(jar: Path, tmp_path: Path) -> None:
    others = [
        jar_path(str(tmp_path / "spark-key"), "Scans", "cd" * 32),
        jar_path(str(tmp_path / "spark-other"), "Scans", "ab" * 32),
    ]
    assert [read_jar(other) for other in others] == [None, None]


@pytest.mark.parametrize("left", [0, 30, -1])
def test_half_a_jar_is_none(jar: Path, left: int) -> None:
    data = jar.read_bytes()
    jar.write_bytes(data[:left])
    assert read_jar(jar) is None
    # A bit that was lost.
    jar.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    assert read_jar(jar) is None


def test_a_jar_that_others_can_write_to_is_none(jar: Path) -> None:
    assert jar.stat().st_mode & 0o777 == 0o600
    jar.chmod(0o620)
    assert read_jar(jar) is None


def test_a_jar_of_another_user_is_none(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert read_jar(jar) is None


def test_the_oldest_go_and_nothing_fails_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar_cache, "_MOST", 2)
    for age, name in enumerate(["A", "B", "C"]):
        path = jar_path(str(tmp_path / "spark-key"), name, "ab" * 32)
        keep_jar(path, _CLASSES)
        os.utime(path, (age, age))
    (tmp_path / "spark-key.jsa").touch()
    keep_jar(jar_path(str(tmp_path / "spark-key"), "D", "ab" * 32), _CLASSES)
    left = sorted(each.name.split("-")[2] for each in tmp_path.glob("*.jar"))
    assert left == ["C", "D"] and (tmp_path / "spark-key.jsa").exists()
    keep_jar(tmp_path / "nowhere" / "spark-key-E-ab.jar", _CLASSES)
    assert not (tmp_path / "nowhere").exists()
