"""HTTP servers of the tests: on a free port of this machine, in threads of this process."""

from __future__ import annotations

import http.client
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple, Self

from paimark.core.storage.conditions import PROOFS

# What a proxy writes itself.
_OF_ONE_CONNECTION = ("connection", "transfer-encoding", "date", "server")


class Answer(NamedTuple):
    """What a server says; without a body to a HEAD, whose headers tell the length all the same."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    """One request. `handle_request` is called for any method of S3's."""

    protocol_version = "HTTP/1.1"

    def handle_request(self) -> None:
        self.send_error(501)

    def do_GET(self) -> None:
        self.handle_request()

    do_PUT = do_HEAD = do_POST = do_DELETE = do_GET

    def body(self) -> bytes:
        """The request's."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    @property
    def access_key(self) -> str:
        """The one with which a request to S3 is signed; empty without a signature."""
        return (self.headers.get("Authorization") or "").partition("Credential=")[2].partition("/")[0]

    def forwarded(self, target: str, body: bytes, headers: dict[str, str]) -> Answer:
        """What the server at `host:port` says to this request."""
        connection = http.client.HTTPConnection(target)
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, tuple(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def pass_on(self, answer: Answer, count: int | None = None) -> None:
        """Send an answer, of its body the first `count` bytes only."""
        self.send_response(answer.status)
        for name, value in answer.headers:
            if name.lower() not in _OF_ONE_CONNECTION:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body[:count])

    def log_request(self, *_: object) -> None:
        """Tests keep what they need."""


class _Server(ThreadingHTTPServer):
    def __init__(self, handler: type[Handler]) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), handler)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.discard(request)


class LocalServer:
    """Serves while it is entered."""

    def __init__(self, handler: type[Handler]) -> None:
        self._server = _Server(handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def connections(self) -> int:
        """How many clients have one open."""
        return len(self._server.connections)

    def __enter__(self) -> Self:
        # An earlier server may have had the port: what is known of that one does not hold for this.
        for key in [each for each in PROOFS._used if self.endpoint in each]:
            del PROOFS._used[key]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def s3_options(endpoint: str) -> dict[str, str]:
    """Paimon's catalog options for an S3 of the tests."""
    return {
        "s3.endpoint": endpoint,
        "s3.access-key": "key",
        "s3.secret-key": "secret",
        "s3.region": "us-east-1",
        "s3.path.style.access": "true",
    }
