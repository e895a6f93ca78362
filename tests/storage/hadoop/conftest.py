"""One HDFS with Kerberos for all tests of a run, and users of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from tests.once import once_a_run
from tests.storage.hadoop.secure_server import SecureHdfs, start_secure_hdfs


@pytest.fixture(scope="session")
def secure(tmp_path_factory: pytest.TempPathFactory) -> SecureHdfs:
    """Without a JDK and Maven its tests skip, or fail as interop's do."""
    directory, ports = once_a_run(tmp_path_factory, "secure", start_secure_hdfs, "HDFS with Kerberos")
    active, standby = map(int, ports.split())
    return SecureHdfs(directory, active, standby)


@pytest.fixture
def user(secure: SecureHdfs, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Files]:
    """Opens an address as somebody with these tickets, and with HADOOP_CONF_DIR or not."""

    def opened(address: str, cache: str = "alice.cache", *, configured: bool = True, **options: str) -> Files:
        monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
        for name, value in secure.environment(cache, configured=configured).items():
            monkeypatch.setenv(name, value)
        return open_files(address, options)

    return opened
