"""One HDFS for all tests of a run."""

from __future__ import annotations

import fcntl
import os

import pytest


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a file system. Without a JDK and Maven its tests skip, or fail as interop's do."""
    # Spark is slow to import, and most tests need no HDFS.
    from tests.interop.stock import ToolMissing
    from tests.storage.hdfs_server import start_hdfs

    shared, run = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # It costs 15 seconds of CPU time: all workers use one, which ends with the process they are of.
        shared, run = shared.parent, os.getppid()
    directory = shared / "hdfs"
    directory.mkdir(exist_ok=True)
    address = directory / "address"
    try:
        with (directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not address.exists():
                address.write_text(" ".join(start_hdfs(directory, run)))
        return address.read_text().split()[0]
    except ToolMissing as missing:
        reason = f"no HDFS to test with: {missing}"
        if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
