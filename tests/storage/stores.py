"""An S3 server in a process of its own, and a proxy before it that misbehaves on request."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.storage.local_http import Handler, LocalServer, s3_options

BUCKET = "lake"
# moto looks for the object and then writes it, so that two writers can win: here it does both at once.
_HONEST = """
import threading
from moto import server
from moto.s3.responses import S3Response

one_at_a_time = threading.Lock()

def alone(method):
    def at_once(self):
        with one_at_a_time:
            return method(self)
    return at_once

S3Response.put_object = alone(S3Response.put_object)
S3Response.delete_object = alone(S3Response.delete_object)
server.main()
"""
_REQUEST = re.compile(r'"(GET|PUT|HEAD|POST|DELETE) (/\S*) HTTP')


class S3Server:
    """A moto server that keeps conditions, and its access log."""

    def __init__(self, port: int, log: Path) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self._log = log

    def options(self, endpoint: str | None = None) -> dict[str, str]:
        """Paimon's catalog options for this server, or for a proxy before it."""
        return s3_options(endpoint or self.endpoint)

    def requests(self) -> list[str]:
        """Method and path of every request so far, in order of their ends."""
        return [" ".join(parts) for parts in _REQUEST.findall(self._log.read_text())]


@contextmanager
def s3_server(directory: Path) -> Iterator[S3Server]:
    """Start the server on a free port, with one empty bucket, and stop it at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = directory / "moto.log"
    with log.open("wb") as out:
        command = [sys.executable, "-c", _HONEST, "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        _wait_for(port, process, log)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("PUT", f"/{BUCKET}")
        assert connection.getresponse().status == 200
        connection.close()
        yield S3Server(port, log)
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(log.read_text())


class Proxy(LocalServer):
    """Passes requests on to `server`. `spoil` sees each one's method and headers, which it may change.

    It returns what the client sees of the answer: "all", "half" of the body, or "nothing".
    """

    def __init__(self, server: S3Server, spoil: Callable[[str, dict[str, str]], str]) -> None:
        target = server.endpoint.removeprefix("http://")

        class Spoiler(Handler):
            def handle_request(self) -> None:
                body, headers = self.body(), dict(self.headers.items())
                seen = spoil(self.command, headers)
                answer = self.forwarded(target, body, headers)
                self.close_connection = seen != "all"
                if seen != "nothing":
                    self.pass_on(answer, None if seen == "all" else len(answer.body) // 2)

        super().__init__(Spoiler)
