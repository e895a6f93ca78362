"""One HDFS for all tests of a run."""

from __future__ import annotations

import pytest

from tests.once import once_a_run


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

    _, said = once_a_run(tmp_path_factory, "hdfs", start_hdfs, "HDFS to test with")
    return said.split()
