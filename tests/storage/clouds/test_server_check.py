"""Without a network a store of Google's is given up after seconds, and OSS needs an endpoint."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from importlib import import_module

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from paimark.core.errors import Unavailable, UsageError
from paimark.core.storage.clouds.server_check import require_endpoint, require_reachable
from paimark.core.storage.open import open_files
from tests.wording import about


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "https://storage.invalid"])
def test_a_server_that_can_not_be_reached_is_named_at_once(endpoint: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable) as failed:
        require_reachable(endpoint, "gs://lake/w")
    assert time.monotonic() - began < 30
    host = endpoint.partition("://")[2].partition(":")[0]
    assert failed.value.message.startswith(f"gs://lake/w can't be reached: {host}: ")
    assert "fs.gs.storage.root.url" in failed.value.hint


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimark.core.listening._CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        # The system accepts no further connection once these wait.
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        with pytest.raises(Unavailable, match=r"timed out|no answer within"):
            require_reachable(f"http://127.0.0.1:{server.getsockname()[1]}", "gs://lake/w")


def test_a_server_that_listens_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_reachable(f"http://127.0.0.1:{server.getsockname()[1]}", "gs://lake/w")


def test_oss_without_an_endpoint_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    class OssFileSystem(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
        __module__ = "ossfs.core"

    monkeypatch.delenv("OSS_ENDPOINT", raising=False)
    monkeypatch.setitem(import_module("fsspec.registry")._registry, "oss", OssFileSystem)
    with pytest.raises(UsageError, match=about("oss://lake/w", "endpoint", "region")) as refused:
        open_files("oss://lake/w")
    assert "fs.oss.endpoint" in refused.value.hint
    require_endpoint("oss://lake/w", {"endpoint": "oss-here.aliyuncs.com"})


def test_an_impossible_port_of_an_endpoint_is_no_crash() -> None:
    with pytest.raises(UsageError, match=about("http://here:x", "address", "server")):
        require_reachable("http://here:x", "gs://lake/w")
