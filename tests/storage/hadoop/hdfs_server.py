"""A NameNode and two DataNodes in a process of their own, and a NameNode in safe mode."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.interop.java_server import start_java_server
from tests.interop.stock import ToolMissing

CLUSTER = "org.apache.hadoop:hadoop-client-minicluster:3.4.2"
SOURCE = Path(__file__).parent / "MiniHdfs.java"


def start_hdfs(directory: Path, until: int) -> str:
    """Start it in a directory, until the process of that number ends.

    Gives the address of its root, a space, and that of another NameNode's that is in safe mode.

    Raises `ToolMissing` without a JDK, Maven and the client.
    """
    require_client()
    ports = start_java_server(SOURCE, directory, until, [CLUSTER]).said.split()
    return " ".join(f"hdfs://127.0.0.1:{port}" for port in ports)


def require_client() -> None:
    """Raises `ToolMissing` where there is none."""
    if find_spec("hdfs_native") is None:
        raise ToolMissing("there is no hdfs-native for this machine")
