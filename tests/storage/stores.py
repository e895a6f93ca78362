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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

BUCKET = "lake"
# moto looks for the object and then writes it, so that two writers can win: here it does both at once.
_HONEST = """
import threading
from moto import server
from moto.s3.responses import S3Response

one_at_a_time, put = threading.Lock(), S3Response.put_object

def put_object(self):
    with one_at_a_time:
        return put(self)

S3Response.put_object = put_object
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
        return {
            "s3.endpoint": endpoint or self.endpoint,
            "s3.access-key": "key",
            "s3.secret-key": "secret",
            "s3.region": "us-east-1",
            "s3.path.style.access": "true",
        }

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


class Proxy:
    """Passes requests on to `server`. `spoil` sees each one's method and headers, which it may change.

    It returns what the client sees of the answer: "all", "half" of the body, or "nothing".
    """

    def __init__(self, server: S3Server, spoil: Callable[[str, dict[str, str]], str]) -> None:
        target = server.endpoint.removeprefix("http://")

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = dict(self.headers.items())
                seen = spoil(self.command, headers)
                connection = http.client.HTTPConnection(target)
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                self.close_connection = seen != "all"
                if seen == "nothing":
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data if seen == "all" else data[: len(data) // 2])

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = forward

            def log_request(self, *_: object) -> None:
                """The server behind has a log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
