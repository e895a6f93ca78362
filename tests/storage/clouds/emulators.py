"""Google's and Azure's stores as servers on this machine: fake-gcs-server and Azurite, and their clients.

They come from the registries of Go, npm and Python: a minute for Azure's, and minutes for Google's, which is
compiled. `PAIMARK_TEST_TOOLS` may name a directory that keeps them.
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

from tests.once import once_a_run

BUCKET = "lake"
ACCOUNT = "devstoreaccount1"
# Azurite's, which everybody knows.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_GOOGLE = "github.com/fsouza/fake-gcs-server@v1.56.1"
_AZURITE = "azurite@3.37.0"
_GOOGLE_CLIENT = "gcsfs==2025.12.0"
_AZURE_CLIENT = "adlfs==2026.8.0"
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
def google_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with the server, whose client can be imported here and in child processes."""
    tools = installed(tmp_path_factory, "google", _install_google)
    with with_importable(tools / "clients"):
        yield tools


@pytest.fixture(scope="session")
def azure_tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As `google_tools`. Nothing of it is compiled: it takes less than a minute."""
    tools = installed(tmp_path_factory, "azure", _install_azure)
    with with_importable(tools / "clients"):
        yield tools


def installed(factory: pytest.TempPathFactory, cloud: str, install: Callable[[Path], None]) -> Path:
    """The directory of a cloud's tools. Skips the test if a program or the network is missing."""

    def make(directory: Path, run: int) -> str:
        kept = os.environ.get("PAIMARK_TEST_TOOLS")
        tools = Path(kept) / cloud if kept else directory
        if not (tools / "complete").exists():
            tools.mkdir(parents=True, exist_ok=True)
            install(tools)
            (tools / "complete").touch()
        return str(tools)

    return Path(once_a_run(factory, f"{cloud}-tools", make, f"server of {cloud.title()}'s store")[1])


def _install_google(tools: Path) -> None:
    _run(["go", "install", _GOOGLE], GOBIN=str(tools))
    install_client(tools, _GOOGLE_CLIENT)


def _install_azure(tools: Path) -> None:
    _run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"--prefix={tools}", _AZURITE])
    install_client(tools, _AZURE_CLIENT)


def install_client(tools: Path, package: str) -> None:
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools / "clients"), package])


@contextmanager
def with_importable(directory: Path) -> Iterator[None]:
    """Last on the path: packages that the environment has as well come from there."""
    path = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(directory)])
        patch.setenv("PYTHONPATH", os.pathsep.join([path, str(directory)]).strip(os.pathsep))
        yield


@pytest.fixture(scope="session")
def google(google_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    words = [
        str(google_tools / "fake-gcs-server"),
        "-scheme",
        "http",
        "-host",
        "127.0.0.1",
        "-backend",
        "memory",
    ]
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
def azure(azure_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    from azure.storage.blob import BlobServiceClient

    words = [
        "node",
        str(azure_tools / "node_modules/.bin/azurite-blob"),
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


@pytest.fixture(params=[pytest.param("google", marks=pytest.mark.long), "azure"])
def cloud(request: pytest.FixtureRequest) -> Cloud:
    store: Cloud = request.getfixturevalue(request.param)
    return store


def _run(words: list[str], **environment: str) -> None:
    """Raises `ToolMissing` if there is no such program, or what it fetches can't be reached."""
    # It imports Spark, which is slow, and most tests need none of this.
    from tests.interop.stock import ToolMissing

    if shutil.which(words[0]) is None:
        raise ToolMissing(f"{words[0]} is not on PATH")
    ran = subprocess.run(words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, check=False)
    if ran.returncode:
        raise ToolMissing(f"`{' '.join(words[:3])}` failed")


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
