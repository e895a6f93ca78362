"""Build stock Paimon for Java as a program: find the tools, download the jars, compile the sources."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyspark

from paimark.core.spark.launch.jvm import MANY_NAMES
from tests.isolation import KEPT

BUNDLE = "org.apache.paimon:paimon-bundle:1.4.2"
# The bundle lacks these dependencies; Spark has all of them.
FROM_SPARK = ("hadoop-client-", "slf4j-api-", "log4j-", "commons-", "snappy-java-")
OLDEST_JDK = 17
SOURCE_NAMES = (
    "Oracle.java",
    "Buffered.java",
    "Values.java",
    "Buckets.java",
    "Writing.java",
    "Vectors.java",
    "Changelogs.java",
)
SOURCES = tuple(str(Path(__file__).parent / name) for name in SOURCE_NAMES)

# Options for a JVM that is started often and runs briefly: its classes need no check.
_UNCHECKED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=300m")
SMALL = ("-Xmx1g", *_BRIEF, *_UNCHECKED, *MANY_NAMES)


class ToolMissing(Exception):
    """This machine can't run stock Paimon. The message names what is missing."""


def build_command(
    workspace: Path, sources: Sequence[str] = SOURCES, options: Sequence[str] = SMALL
) -> list[str]:
    """Download and compile; returns the command that starts the first of `sources`."""
    spark_jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    from_spark = os.pathsep.join(str(jar) for jar in spark_jars if jar.name.startswith(FROM_SPARK))

    def get(maven: str, jars: Path) -> None:
        _, name, release = BUNDLE.split(":")
        if of_setup := sorted(Path(sys.prefix, "share/paimark/jars").glob(f"*/{name}-{release}.jar")):
            jars.mkdir()
            shutil.copy(of_setup[0], jars)
        else:
            download(maven, BUNDLE, jars)

    java, class_path = built(sources, get, BUNDLE, from_spark, workspace)
    scratch = workspace / "scratch"
    scratch.mkdir()
    return [java, *options, f"-Djava.io.tmpdir={scratch}", "-cp", class_path, Path(sources[0]).stem]


def built(
    sources: Sequence[str], fetch: Callable[[str, Path], None], fetched: str, beside: str, workspace: Path
) -> tuple[str, str]:
    """Java and the class path of these sources, compiled beside the jars that `fetch` gets with Maven.

    Kept from one run to the next where pytest keeps anything, below a hash of the sources, `fetched` and
    `beside`. Raises `ToolMissing` without a JDK and Maven.
    """
    java, javac, maven = jdk_tool("java"), jdk_tool("javac"), shutil.which("mvn")
    if java is None or javac is None or jdk_version(javac) < OLDEST_JDK:
        raise ToolMissing(f"a JDK {OLDEST_JDK} or newer is needed: javac on PATH or in JAVA_HOME")
    if maven is None:
        raise ToolMissing("Maven is needed: mvn on PATH")
    texts = [Path(each).read_text() for each in sources]
    key = hashlib.sha256("\0".join([*texts, java, fetched, beside]).encode()).hexdigest()[:20]
    place = Path(os.environ.get(KEPT, workspace), key)
    if not place.exists():
        making = place.with_name(f"{key}.{os.getpid()}")
        making.mkdir(parents=True)
        fetch(maven, making / "jars")
        words = ["-nowarn", "-d", str(making / "classes"), "-cp", _class_path(making, beside)]
        subprocess.run([javac, *(f"-J{each}" for each in _BRIEF), *words, *sources], check=True)
        # Another run may have been faster.
        with suppress(OSError):
            making.rename(place)
    return java, _class_path(place, beside)


def _class_path(place: Path, beside: str) -> str:
    return os.pathsep.join([f"{place}/classes", beside, f"{place}/jars/*"])


def jdk_tool(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name, path=f"{home}/bin" if home else None)


def jdk_version(javac: str) -> int:
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r"javac (\d+)", said.stdout + said.stderr)
    return int(match[1]) if match else 0


def download(maven: str, artifact: str, into: Path) -> None:
    brought([maven, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={into}"], into, artifact)


def brought(words: Sequence[str], into: Path, what: str) -> None:
    """Let Maven, the first of `words`, put `what` into a directory. Raises `ToolMissing` if it can not."""
    brief = os.environ | {"MAVEN_OPTS": " ".join([os.environ.get("MAVEN_OPTS", ""), *_BRIEF])}
    words = [*words, "-q", "-B"]
    done = subprocess.run(words, cwd=into.parent, env=brief, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolMissing(f"Maven could not bring {what}: {(done.stdout + done.stderr).strip()[:300]}")
