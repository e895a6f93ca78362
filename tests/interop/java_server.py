"""Java servers for tests: fetch the jars, compile the source, and start a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyspark

from tests.interop.stock import SMALL, built, download

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
    *,
    fetched: str = "",
) -> JavaServer:
    """Start a Java source with Spark's jars, and wait until it prints a line.

    Its arguments are the directory, and the process id with whose end it must end. `fetch` are Maven
    artifacts, or a function that gets Maven and a directory, and puts the jars of `fetched` there. Raises
    `ToolMissing` without a JDK and Maven.
    """
    log = directory / "server.log"

    def get(maven: str, jars: Path) -> None:
        if callable(fetch):
            fetch(maven, jars)
        else:
            for each in fetch:
                download(maven, each, jars)

    java, class_path = built([str(source)], get, fetched or repr(fetch), SPARK_JARS, directory)
    # What the server adds to its class path.
    own = directory / "classes"
    own.mkdir()
    class_path = os.pathsep.join([class_path, str(own)])
    command = [java, *SMALL, *options, "-cp", class_path, source.stem, str(directory), str(until)]
    return started(command, directory, log)


def started(command: Sequence[str], directory: Path, log: Path) -> JavaServer:
    """A server that this command starts, once it has printed a line."""
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
