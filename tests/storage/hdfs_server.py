"""A NameNode and two DataNodes in a process of their own, and a NameNode in safe mode."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pyspark

from tests.interop.stock import OLDEST_JDK, SMALL, ToolMissing, download, jdk_tool, jdk_version

CLUSTER = "org.apache.hadoop:hadoop-client-minicluster:3.4.2"
SOURCE = Path(__file__).parent / "MiniHdfs.java"


def start_hdfs(directory: Path, until: int) -> tuple[str, str]:
    """Start it in a directory, until the process of that number ends.

    Gives the address of its root, and of another NameNode's that is in safe mode.

    Raises `ToolMissing` without a JDK, Maven and the client.
    """
    if find_spec("hdfs_native") is None:
        raise ToolMissing("there is no hdfs-native for this machine")
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or maven is None or jdk_version(javac) < OLDEST_JDK:
        raise ToolMissing(f"a JDK {OLDEST_JDK} or newer and Maven are needed")
    jars, classes = directory / "jars", directory / "classes"
    download(maven, CLUSTER, jars)
    class_path = os.pathsep.join([str(classes), f"{Path(pyspark.__file__).parent}/jars/*", f"{jars}/*"])
    subprocess.run([javac, "-nowarn", "-d", str(classes), "-cp", class_path, str(SOURCE)], check=True)
    command = [java, *SMALL, "-cp", class_path, SOURCE.stem, str(directory / "data"), str(until)]
    with (directory / "hdfs.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdout is not None
    with process.stdout as said:
        ports = said.readline().split()
    assert len(ports) == 2, (directory / "hdfs.log").read_text()
    # Nobody waits for it: it outlives the test process that started it.
    process.returncode = 0
    address, in_safe_mode = (f"hdfs://127.0.0.1:{port}" for port in ports)
    return address, in_safe_mode
