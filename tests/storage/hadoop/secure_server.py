"""An HDFS that takes Kerberos tickets alone, with its KDC, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pyspark

from tests.interop.stock import OLDEST_JDK, SMALL, ToolMissing, jdk_tool, jdk_version

SOURCE = Path(__file__).parent / "SecureHdfs.java"
_ARTIFACTS = ("org.apache.kerby:kerb-simplekdc:2.1.0", "org.apache.hadoop:hadoop-client-minicluster:3.4.2")
_DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
<exclusions><exclusion><groupId>org.slf4j</groupId><artifactId>*</artifactId></exclusion>
<exclusion><groupId>org.apache.hadoop</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""
_PROJECT = """<project><modelVersion>4.0.0</modelVersion><groupId>jars</groupId><artifactId>jars</artifactId>
<version>1</version><dependencies>{}</dependencies></project>"""


class SecureHdfs(NamedTuple):
    """`directory` has `krb5.conf`, `conf/` for clients, keytabs (`alice.keytab`) and ticket caches.

    `active` and `standby` are the ports of the NameNodes of the name service `lake`.
    """

    directory: Path
    active: int
    standby: int

    def environment(self, cache: str = "alice.cache", *, configured: bool = True) -> dict[str, str]:
        """What a user has who has run `kinit`; `configured` is whether HADOOP_CONF_DIR is set."""
        known = {"KRB5_CONFIG": f"{self.directory}/krb5.conf", "KRB5CCNAME": f"FILE:{self.directory}/{cache}"}
        return {**known, "HADOOP_CONF_DIR": f"{self.directory}/conf"} if configured else known


def start_secure_hdfs(directory: Path, until: int) -> str:
    """Start it in a directory, until the process of that number ends; the ports of its NameNodes.

    Raises `ToolMissing` without a JDK, Maven and the client.
    """
    if find_spec("hdfs_native") is None:
        raise ToolMissing("there is no hdfs-native for this machine")
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or maven is None or jdk_version(javac) < OLDEST_JDK:
        raise ToolMissing(f"a JDK {OLDEST_JDK} or newer and Maven are needed")
    jars, classes = directory / "jars", directory / "classes"
    _download(maven, directory, jars)
    class_path = os.pathsep.join([str(classes), f"{Path(pyspark.__file__).parent}/jars/*", f"{jars}/*"])
    subprocess.run([javac, "-nowarn", "-d", str(classes), "-cp", class_path, str(SOURCE)], check=True)
    command = [java, *SMALL, "-cp", class_path, SOURCE.stem, str(directory), str(until)]
    log = directory / "secure.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out, text=True
        )
    assert process.stdout is not None
    with process.stdout as said:
        ports = said.readline()
    assert ports, log.read_text()[-5000:]
    # Nobody waits for it: it outlives the test process that started it.
    process.returncode = 0
    return ports


def _download(maven: str, directory: Path, jars: Path) -> None:
    """The servers with what they need, but for what Spark brings."""
    project = directory / "pom.xml"
    project.write_text(_PROJECT.format("".join(_DEPENDENCY.format(*each.split(":")) for each in _ARTIFACTS)))
    words = [
        maven,
        "-q",
        "-B",
        "-f",
        str(project),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={jars}",
    ]
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolMissing(f"Maven could not bring a KDC: {(done.stdout + done.stderr).strip()[:300]}")
