"""Build stock Paimon for Java as a program: find the tools, download the jars, compile the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyspark

BUNDLE = "org.apache.paimon:paimon-bundle:1.4.2"
# The bundle lacks these dependencies; Spark has all of them.
FROM_SPARK = ("hadoop-client-", "slf4j-api-", "log4j-", "commons-", "snappy-java-")
OLDEST_JDK = 17
SOURCE_NAMES = (
    "Oracle.java",
    "Values.java",
    "Buckets.java",
    "Writing.java",
    "Vectors.java",
    "Changelogs.java",
)
SOURCES = tuple(str(Path(__file__).parent / name) for name in SOURCE_NAMES)

# Options for a JVM that is started often and runs briefly.
SMALL = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class ToolMissing(Exception):
    """This machine can't run stock Paimon. The message names what is missing."""


def build_command(
    workspace: Path, sources: Sequence[str] = SOURCES, options: Sequence[str] = SMALL
) -> list[str]:
    """Download and compile into `workspace`; returns the command that starts the first of `sources`."""
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or jdk_version(javac) < OLDEST_JDK:
        raise ToolMissing(f"a JDK {OLDEST_JDK} or newer is needed: javac on PATH or in JAVA_HOME")
    if maven is None:
        raise ToolMissing("Maven is needed: mvn on PATH")
    jars, classes, scratch = (workspace / name for name in ("jars", "classes", "scratch"))
    download(maven, BUNDLE, jars)
    scratch.mkdir()
    spark_jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    class_path = [*jars.glob("*.jar"), *(jar for jar in spark_jars if jar.name.startswith(FROM_SPARK))]
    joined = os.pathsep.join(map(str, [classes, *class_path]))
    subprocess.run([javac, "-nowarn", "-d", str(classes), "-cp", joined, *sources], check=True)
    return [java, *options, f"-Djava.io.tmpdir={scratch}", "-cp", joined, Path(sources[0]).stem]


def jdk_tool(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name, path=f"{home}/bin" if home else None)


def jdk_version(javac: str) -> int:
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r"javac (\d+)", said.stdout + said.stderr)
    return int(match[1]) if match else 0


def download(maven: str, artifact: str, into: Path) -> None:
    words = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={into}"]
    done = subprocess.run(words, cwd=into.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolMissing(f"Maven could not bring {artifact}: {(done.stdout + done.stderr).strip()[:300]}")
