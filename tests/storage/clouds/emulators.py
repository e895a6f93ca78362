"""Google's and Azure's stores as servers on this machine: fake-gcs-server and Azurite, and their clients.

They come from the registries of Go, npm and Python, which takes minutes: `PAIMARK_TEST_TOOLS` may name a
directory that keeps them.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

BUCKET = "lake"
ACCOUNT = "devstoreaccount1"
# Azurite's, which everybody knows.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_GOOGLE = "github.com/fsouza/fake-gcs-server@v1.56.1"
_AZURITE = "azurite@3.37.0"
_CLIENTS = ("gcsfs==2025.12.0", "adlfs==2026.8.0")
_AZURITE_WORDS = ("--silent", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry")


class Cloud(NamedTuple):
    """`address` is of the bucket; `endpoint` of the server: `http://host:port`."""

    address: str
    endpoint: str
    options: dict[str, str]

    def warehouse(self) -> str:
        """The address of a new one."""
        return f"{self.address}/{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the servers, and the clients for whoever is started from here."""
    kept = os.environ.get("PAIMARK_TEST_TOOLS")
    tools = Path(kept) if kept else tmp_path_factory.mktemp("tools")
    for program in ("go", "npm"):
        if shutil.which(program) is None:
            reason = f"no servers of Google's and Azure's stores: {program} is not on PATH"
            if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
                pytest.fail(reason)
            pytest.skip(reason)
    if not (tools / "fake-gcs-server").exists():
        _run(["go", "install", _GOOGLE], GOBIN=str(tools))
    if not (tools / "node_modules").exists():
        _run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"--prefix={tools}", _AZURITE])
    if not (tools / "clients").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools / "clients")]
        _run([*pip, *_CLIENTS])
    return tools


@pytest.fixture(scope="session")
def clients(tools: Path) -> Iterator[None]:
    """gcsfs and adlfs, here and in processes that are started: after what is installed, which comes first."""
    place = str(tools / "clients")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, place])
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([os.environ.get("PYTHONPATH", ""), place]).strip(os.pathsep)
        )
        yield


@pytest.fixture(scope="session")
def google(tools: Path, clients: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    words = [str(tools / "fake-gcs-server"), "-scheme", "http", "-host", "127.0.0.1", "-backend", "memory"]
    with _served(lambda port: [*words, "-port", str(port)], tmp_path_factory.mktemp("google")) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        body, headers = json.dumps({"name": BUCKET}), {"Content-Type": "application/json"}
        connection.request("POST", "/storage/v1/b?project=p", body, headers)
        assert connection.getresponse().status == 200
        connection.close()
        endpoint = f"http://127.0.0.1:{port}"
        yield Cloud(f"gs://{BUCKET}", endpoint, google_options(endpoint))


def google_options(endpoint: str) -> dict[str, str]:
    return {"fs.gs.storage.root.url": endpoint, "fs.gs.auth.type": "UNAUTHENTICATED"}


@pytest.fixture(scope="session")
def azure(tools: Path, clients: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    from azure.storage.blob import BlobServiceClient

    words = [
        "node",
        str(tools / "node_modules/.bin/azurite-blob"),
        *_AZURITE_WORDS,
        "--blobHost",
        "127.0.0.1",
    ]
    with _served(lambda port: [*words, "--blobPort", str(port)], tmp_path_factory.mktemp("azure")) as port:
        endpoint = f"http://127.0.0.1:{port}"
        with BlobServiceClient(f"{endpoint}/{ACCOUNT}", credential=KEY) as client:
            client.create_container(BUCKET)
        options = {
            f"fs.azure.account.key.{ACCOUNT}": KEY,
            "fs.azure.abfs.endpoint": f"127.0.0.1:{port}",
            "fs.azure.always.use.https": "false",
        }
        yield Cloud(f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net", endpoint, options)


@pytest.fixture(params=["google", "azure"])
def cloud(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.getfixturevalue(request.param)
    return found


def _run(words: list[str], **environment: str) -> None:
    subprocess.run(words, env={**os.environ, **environment}, check=True, stdin=subprocess.DEVNULL)


@contextmanager
def _served(words: Callable[[int], list[str]], directory: Path) -> Iterator[int]:
    """Start a server on a free port, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    log = directory / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(words(port), stdout=out, stderr=out, cwd=directory)
    try:
        deadline = time.monotonic() + 120
        while True:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()
