"""The same settings of Java and Spark for both sides of a comparison, and each side's real options."""

from __future__ import annotations

import subprocess
from pathlib import Path

from paimark.core.spark.launch.jvm import COLLECTOR, LATE_SECOND_COMPILER
from paimark.core.spark.launch.settings import spark_settings

# The memory for statements, on both sides.
MEMORY = "2g"
# Our Java options. Peers get them too, so that a ratio does not compare two collectors.
JAVA_OPTIONS = (COLLECTOR, *LATE_SECOND_COMPILER)
# Our settings for one machine that can change the time of any engine.
_SPARK_SETTINGS = (
    "spark.master",
    "spark.driver.memory",
    "spark.driver.host",
    "spark.driver.bindAddress",
    "spark.ui.enabled",
    "spark.ui.showConsoleProgress",
    "spark.log.level",
    "spark.local.dir",
    "spark.sql.warehouse.dir",
    "spark.sql.catalogImplementation",
    "spark.sql.shuffle.partitions",
    "spark.sql.files.openCostInBytes",
)


def peer_settings(scratch: Path, master: str | None = None) -> dict[str, str]:
    """Spark's settings for a stock session with the same conditions as ours."""
    ours = spark_settings(master, {"spark.driver.memory": MEMORY}, scratch)
    shared = {name: ours[name] for name in _SPARK_SETTINGS}
    return {**shared, "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS)}


def flags(java: int) -> frozenset[str]:
    """The options of a Java process that differ from Java's defaults."""
    # This imports PySpark, which would count in a measured start.
    from tests.interop.stock import jdk_tool

    jcmd = jdk_tool("jcmd")
    if jcmd is None:
        return frozenset()
    done = subprocess.run([jcmd, str(java), "VM.flags"], capture_output=True, text=True, check=False)
    return frozenset(word for word in done.stdout.split() if word.startswith("-XX:"))


def print_flags(ours: frozenset[str], peer: str, theirs: frozenset[str]) -> None:
    """Print both sides' Java options: those of both, and those of one alone."""
    print(f"Java's options, ours and {peer}: {_joined(ours & theirs)}")
    print(f"  ours alone: {_joined(ours - theirs)}")
    print(f"  {peer} alone: {_joined(theirs - ours)}")


def _joined(options: frozenset[str]) -> str:
    # The path of an archive of classes is private.
    return " ".join(sorted(each.partition("=/")[0] for each in options)) or "nothing"
