"""Paimon's stock Spark connector, in a stock session of the Spark version for which it is made."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring.java import peer_settings
from benchmarks.peers.environments import peer_python
from benchmarks.peers.process import SqlProcess
from tests.interop.stock import ToolMissing, download

# The peer of P8's goal, and the PySpark for which it is made. Not every machine's Maven repository has it.
ARTIFACT = "org.apache.paimon:paimon-spark-4.1_2.13:2.0.0"
PYSPARK = "4.1.4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--connector", default=ARTIFACT, help="a jar, or what Maven calls it")
    parser.add_argument("--connector-pyspark", default=PYSPARK, help="the PySpark that it is made for")


def jar_of(wanted: str, workspace: Path) -> Path:
    """Raises `ToolMissing` if Maven is missing, or does not find it."""
    if wanted.endswith(".jar"):
        return Path(wanted).resolve(strict=True)
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolMissing("Maven is needed: mvn on PATH")
    download(maven, wanted, workspace / "jars")
    [jar] = (workspace / "jars").glob("*.jar")
    return jar


class Connector(SqlProcess):
    """Raises `ToolMissing` if the jar is not available."""

    def __init__(self, workspace: Path, warehouse: Path, wanted: str, pyspark: str) -> None:
        workspace.mkdir()
        jar = jar_of(wanted, workspace)
        command = [_python_with(pyspark), "-m", "benchmarks.peers.connector_session"]
        settings = json.dumps(peer_settings(workspace))
        super().__init__(
            jar.stem,
            [*command, str(warehouse), str(jar), settings],
            workspace / "log",
            without_spark(os.environ),
        )
        # The session takes seconds to start, which must not count for a query.
        self.rows("SELECT 1")


def _python_with(pyspark: str) -> str:
    if pyspark == version("pyspark"):
        return sys.executable
    return str(peer_python(f"pyspark-{pyspark}", f"pyspark=={pyspark}"))


def without_spark(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables that a stock session must not take from ours."""
    return {name: value for name, value in environment.items() if not name.startswith(("SPARK", "PYSPARK"))}
