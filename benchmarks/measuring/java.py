"""One setting of Java and Spark for both sides of a comparison, and what each side really runs with."""

from __future__ import annotations

import subprocess
from pathlib import Path

from core.spark.launch.jvm import COLLECTOR, LATE_SECOND_COMPILER
from core.spark.launch.settings import spark_settings

# What statements run on, by both sides.
MEMORY = "2g"
# Ours starts its Java with these. Peers get them too, so that a ratio is not one of two collectors.
JAVA_OPTIONS = (COLLECTOR, *LATE_SECOND_COMPILER)
# Of our settings for one machine, those that cost or spare any engine time.
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
    """Spark's settings for a stock session that is to be like ours."""
    ours = spark_settings(master, {"spark.driver.memory": MEMORY}, scratch)
    shared = {name: ours[name] for name in _SPARK_SETTINGS}
    return {**shared, "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS)}


def flags(java: int) -> frozenset[str]:
    """The options that a Java process runs with where they are not Java's own defaults."""
    # Imports PySpark, which costs a start that is measured.
    from tests.interop.stock import jdk_tool

    jcmd = jdk_tool("jcmd")
    if jcmd is None:
        return frozenset()
    done = subprocess.run([jcmd, str(java), "VM.flags"], capture_output=True, text=True, check=False)
    return frozenset(word for word in done.stdout.split() if word.startswith("-XX:"))


def print_flags(ours: frozenset[str], peer: str, theirs: frozenset[str]) -> None:
    """Both sides' Java options: what both have, and what one alone has."""
    print(f"Java's options, ours and {peer}: {_joined(ours & theirs)}")
    print(f"  ours alone: {_joined(ours - theirs)}")
    print(f"  {peer} alone: {_joined(theirs - ours)}")


def _joined(options: frozenset[str]) -> str:
    # An archive of classes is named by its path, which is nobody's business.
    return " ".join(sorted(each.partition("=/")[0] for each in options)) or "nothing"
