"""Java's archive of classes: never stale, never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paimark.core.spark.launch import cds
from paimark.core.spark.launch.cds import Archive, archive_for
from paimark.core.spark.launch.java import find_java

_CLASSES = "java/lang/Object id: 0\njava/lang/String id: 1\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory of this test, empty; archives are switched on."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(cds.SWITCH, raising=False)
    return tmp_path / "cache" / "paimark" / "java"


def archive_of(java: Path, *flags: str, jars: tuple[Path, ...] = ()) -> Archive:
    found = archive_for(java, "", jars, flags)
    assert found is not None
    return found


def left(cache: Path) -> list[str]:
    return sorted(each.name for each in cache.iterdir() if each.name != "lock")


def test_an_archive_is_used_once_it_is_whole(cache: Path, tmp_path: Path) -> None:
    archive = archive_of(find_java().executable)
    assert archive.start_flags(tmp_path) == [f"-XX:DumpLoadedClassList={tmp_path}/loaded-classes"]
    # Two engines that end at once, each with a process of its own that builds.
    lists = [tmp_path / "first", tmp_path / "second"]
    builders = []
    for each in lists:
        each.write_text(_CLASSES)
        words = [str(archive.path), str(each), str(archive.java), ""]
        command = [sys.executable, "-m", "paimark.core.spark.launch.cds", *words]
        builders.append(subprocess.Popen(command))
    assert [each.wait() for each in builders] == [0, 0]
    assert left(cache) == [archive.path.name]
    assert not any(each.exists() for each in lists)
    flags = archive.start_flags(tmp_path)
    assert flags[0] == f"-XX:SharedArchiveFile={archive.path}"
    java = [str(archive.java), *flags, "-Xlog:class+load:file=" + str(tmp_path / "loads"), "-version"]
    subprocess.run(java, check=True, capture_output=True)
    assert "shared objects file" in (tmp_path / "loads").read_text()
    # Half of it lost, as by a full disk: Java starts without, and says nothing about it.
    archive.path.chmod(0o600)
    os.truncate(archive.path, archive.path.stat().st_size // 2)
    broken = subprocess.run(
        [str(archive.java), *flags, "-version"], check=True, capture_output=True, text=True
    )
    assert broken.stdout == ""


def test_where_no_archive_can_be_made_it_is_not_tried_each_time(cache: Path, tmp_path: Path) -> None:
    archive = archive_of(Path("/bin/false"))
    (tmp_path / "loaded-classes").write_text(_CLASSES)
    archive.build(tmp_path / "loaded-classes")
    assert left(cache) == [archive.path.with_suffix(".failed").name]
    assert archive.start_flags(tmp_path) == []


def test_whatever_it_depends_on_gives_another_archive(cache: Path, tmp_path: Path) -> None:
    java = find_java().executable
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"12")
    first = archive_of(java, "-Xa", jars=(jar,)).path
    assert archive_of(java, "-Xa", jars=(jar,)).path == first
    os.utime(jar, ns=(0, 0))
    second = archive_of(java, "-Xa", jars=(jar,)).path
    assert len({first, second, archive_of(java, "-Xb", jars=(jar,)).path, archive_of(java).path}) == 4


def test_there_is_none_where_others_could_write_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java().executable
    archive_of(java)
    cache.chmod(0o770)
    assert archive_for(java, "", (), ()) is None
    cache.rmdir()
    cache.write_text("a file in its place")
    assert archive_for(java, "", (), ()) is None
    monkeypatch.setenv(cds.SWITCH, "off")
    cache.unlink()
    assert archive_for(java, "", (), ()) is None and not cache.exists()


def test_old_archives_and_leftovers_go(cache: Path, tmp_path: Path) -> None:
    archive = archive_of(Path("/bin/false"))
    for age, name in enumerate(("spark-a.jsa", "spark-b.jsa", "spark-c.jsa")):
        (cache / name).touch()
        os.utime(cache / name, (time.time() - age, time.time() - age))
    for name in ("spark-a.new-1", "spark-a.classes-1", "spark-a.failed", "somebody-else's"):
        (cache / name).touch()
        os.utime(cache / name, (0, 0))
    (cache / "spark-c.new-2").touch()
    archive.build(tmp_path / "nothing")
    assert left(cache) == sorted(
        [
            "spark-a.jsa",
            "spark-b.jsa",
            "spark-c.new-2",
            "somebody-else's",
            archive.path.with_suffix(".failed").name,
        ]
    )


def test_a_class_list_is_handed_on_in_whole_lines(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java may be killed in the middle of one."""
    archive = archive_of(find_java().executable)
    (tmp_path / "loaded-classes").write_text(_CLASSES + "java/lang/Th")
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    archive.build_in_background(tmp_path)
    [command] = started
    assert Path(command[5]).read_text() == _CLASSES
