"""One HDFS for all tests of a run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a file system. Without a JDK and Maven its tests skip, or fail as interop's do."""
    return _addresses(tmp_path_factory)[0]


@pytest.fixture(scope="session")
def hdfs_in_safe_mode(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of one that takes no change."""
    return _addresses(tmp_path_factory)[1]


def _addresses(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    # Spark is slow to import, and most tests need no HDFS.
    from tests.storage.hadoop.hdfs_server import start_hdfs

    _, said = once_a_run(tmp_path_factory, "hdfs", start_hdfs)
    return said.split()


def once_a_run(
    tmp_path_factory: pytest.TempPathFactory, name: str, start: Callable[[Path, int], str]
) -> tuple[Path, str]:
    """The directory of a server, and what `start` said: it is given that, and the process to end with."""
    from tests.interop.stock import ToolMissing

    shared, run = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # It costs 15 seconds of CPU time: all workers use one, which ends with the process they are of.
        shared, run = shared.parent, os.getppid()
    directory = shared / name
    directory.mkdir(exist_ok=True)
    address = directory / "address"
    try:
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not address.exists():
                address.write_text(start(directory, run))
        return directory, address.read_text()
    except ToolMissing as missing:
        reason = f"no HDFS to test with: {missing}"
        if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
