"""One setting of Java and Spark for both sides of a comparison, and what each side really runs with."""

from __future__ import annotations

import subprocess
from pathlib import Path

from core.spark.launch.jvm import COLLECTOR, LATE_SECOND_COMPILER
from core.spark.launch.settings import spark_settings
from tests.interop.stock import jdk_tool

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
    jcmd = jdk_tool("jcmd")
    if jcmd is None:
        return frozenset()
    done = subprocess.run([jcmd, str(java), "VM.flags"], capture_output=True, text=True, check=False)
    return frozenset(word for word in done.stdout.split() if word.startswith("-XX:"))


def tell_flags(ours: int, peers: dict[str, int]) -> None:
    """Print what Java of ours and of each peer has that the other has not."""
    own = flags(ours)
    for name, java in peers.items():
        theirs = flags(java)
        print(f"Java of both, {name}: {' '.join(sorted(own & theirs))}")
        print(f"  ours alone: {' '.join(sorted(own - theirs)) or 'nothing'}")
        print(f"  {name} alone: {' '.join(sorted(theirs - own)) or 'nothing'}")
