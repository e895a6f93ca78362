"""Java servers for tests: fetch the jars, compile the source, and start a process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyspark

from tests.interop.stock import OLDEST_JDK, SMALL, ToolMissing, download, jdk_tool, jdk_version

SPARK_JARS = f"{Path(pyspark.__file__).parent}/jars/*"
_END_OF_LOG = 5000


class JavaServer(NamedTuple):
    """`said` is the line that the server printed when it was ready."""

    said: str
    pid: int


def start_java_server(
    source: Path,
    directory: Path,
    until: int,
    fetch: Sequence[str] | Callable[[str, Path], None],
    options: Sequence[str] = (),
) -> JavaServer:
    """Start a Java source with Spark's jars, and wait until it prints a line.

    Its arguments are the directory, and the process id with whose end it must end. `fetch` are Maven
    artifacts, or a function that gets Maven and a directory, and puts jars there. Raises `ToolMissing`
    without a JDK and Maven.
    """
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or maven is None or jdk_version(javac) < OLDEST_JDK:
        raise ToolMissing(f"a JDK {OLDEST_JDK} or newer and Maven are needed")
    jars, classes, log = directory / "jars", directory / "classes", directory / "server.log"
    if callable(fetch):
        fetch(maven, jars)
    else:
        for each in fetch:
            download(maven, each, jars)
    class_path = os.pathsep.join([str(classes), SPARK_JARS, f"{jars}/*"])
    subprocess.run([javac, "-nowarn", "-d", str(classes), "-cp", class_path, str(source)], check=True)
    command = [java, *SMALL, *options, "-cp", class_path, source.stem, str(directory), str(until)]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out, text=True
        )
    assert process.stdout is not None
    with process.stdout as said:
        line = said.readline().strip()
    assert line, log.read_text()[-_END_OF_LOG:]
    # Avoid a warning about an unwaited process: it may outlive the test process that started it.
    process.returncode = 0
    return JavaServer(line, process.pid)
