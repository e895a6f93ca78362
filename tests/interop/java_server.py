"""Java servers that tests talk to: fetched, compiled and started in a process of their own."""

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
    """`said` is the line that it said when it was ready."""

    said: str
    pid: int


def start_java_server(
    source: Path,
    directory: Path,
    until: int,
    fetch: Sequence[str] | Callable[[str, Path], None],
    options: Sequence[str] = (),
) -> JavaServer:
    """Run a Java source beside Spark's jars, until it says a line.

    It is given the directory, and the number of the process that it is to end with. `fetch` are artifacts of
    Maven's, or brings jars: it is given Maven and where to. Raises `ToolMissing` without a JDK and Maven.
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
    # Nobody waits for it: it may outlive the test process that started it.
    process.returncode = 0
    return JavaServer(line, process.pid)
