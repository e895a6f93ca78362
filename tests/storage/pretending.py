"""A small S3 server of our own, which keeps the conditions of writes or only pretends to."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.storage.stores import BUCKET

# keeps: as S3 does. ignores: takes conditions and writes. looks first: two that look at once both write.
Mode = Literal["keeps", "ignores", "looks first", "ignores If-Match", "lets nobody win"]
PRETENDING: tuple[Mode, ...] = ("ignores", "looks first", "ignores If-Match", "lets nobody win")
# How long a server that looks first takes until it writes.
_LOOKS_SECONDS = 0.02


class PretendingServer:
    """`objects` are the bucket's by key; `requests` the method and key of each request so far."""

    def __init__(self, mode: Mode) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.mode = mode
        # Of the next so many creations it says that another request is under way; `meanwhile` is what that
        # does with the key, the bytes and the mark of whoever asks.
        self.conflicts = 0
        self.meanwhile: Callable[[str, bytes, str], object] = lambda key, data, mark: None
        self.marks: dict[str, str] = {}
        self._lock = Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def options(self) -> dict[str, str]:
        """Paimon's catalog options for this server."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key": "key",
            "s3.secret-key": "secret",
            "s3.region": "us-east-1",
            "s3.path.style.access": "true",
        }

    def put(self, key: str, data: bytes, none_match: str | None, match: str | None) -> int:
        """The status of a PUT."""
        if self.mode == "ignores":
            none_match = match = None
        if self.mode == "ignores If-Match":
            match = None
        if self.mode == "lets nobody win" and none_match:
            return 412
        if self.mode == "looks first":
            if not self._holds(key, none_match, match):
                return 412
            time.sleep(_LOOKS_SECONDS)
            none_match = match = None
        with self._lock:
            if not self._holds(key, none_match, match):
                return 412
            self.objects[key] = data
        return 200

    def _holds(self, key: str, none_match: str | None, match: str | None) -> bool:
        there = self.objects.get(key)
        if none_match == "*" and there is not None:
            return False
        return match is None or (there is not None and match.strip('"') == etag(there))

    def listed(self, prefix: str) -> str:
        """The body of a listing, with what lies below `prefix` up to the next slash."""
        below = {
            key.removeprefix(prefix): data for key, data in self.objects.items() if key.startswith(prefix)
        }
        files = "".join(
            f"<Contents><Key>{escape(prefix + name)}</Key><Size>{len(data)}</Size>"
            f"<LastModified>2026-05-01T00:00:00.000Z</LastModified><ETag>{etag(data)}</ETag></Contents>"
            for name, data in below.items()
            if "/" not in name
        )
        directories = "".join(
            f"<CommonPrefixes><Prefix>{escape(prefix + name)}/</Prefix></CommonPrefixes>"
            for name in sorted({name.partition("/")[0] for name in below if "/" in name})
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{files}{directories}</ListBucketResult>"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if "aws-chunked" in self.headers.get("Content-Encoding", ""):
                    body = _unchunked(body)
                none_match, match = self.headers.get("If-None-Match"), self.headers.get("If-Match")
                mark = self.headers.get(_MARK, "")
                if none_match and server.conflicts:
                    server.conflicts -= 1
                    server.meanwhile(self._key(), body, mark)
                    self._answer(409, _ERRORS[409])
                    return
                status = server.put(self._key(), body, none_match, match)
                if status == 200:
                    server.marks[self._key()] = mark
                self._answer(status, _ERRORS.get(status, b""), etag(body))

            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                if "list-type" in asked:
                    self._answer(200, server.listed(asked.get("prefix", [""])[0]).encode())
                else:
                    self._send_object()

            def do_HEAD(self) -> None:
                self._send_object()

            def do_DELETE(self) -> None:
                server.objects.pop(self._key(), None)
                self._answer(204)

            def _send_object(self) -> None:
                data = server.objects.get(self._key())
                if data is None:
                    self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                else:
                    self._answer(200, data, etag(data))

            def _answer(self, status: int, body: bytes = b"", mark: str = "") -> None:
                server.requests.append(f"{self.command} {self._key()}")
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", f'"{mark}"')
                if self.command != "PUT" and status == 200:
                    self.send_header(_MARK, server.marks.get(self._key(), ""))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def _key(self) -> str:
                return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")

            def log_request(self, *_: object) -> None:
                """`requests` has them."""

        return Handler

    def start(self) -> None:
        Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


_MARK = "x-amz-meta-paimark-write"
_ERRORS = {
    409: b"<Error><Code>ConditionalRequestConflict</Code></Error>",
    412: b"<Error><Code>PreconditionFailed</Code></Error>",
}


def etag(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def _unchunked(body: bytes) -> bytes:
    """The bytes that were sent in chunks, each after its length in hexadecimal."""
    data = b""
    while body:
        length, _, rest = body.partition(b"\r\n")
        size = int(length.partition(b";")[0], 16)
        if not size:
            break
        data, body = data + rest[:size], rest[size + 2 :]
    return data


@contextmanager
def pretending_server(mode: Mode) -> Iterator[PretendingServer]:
    """Run one with an empty bucket `lake`."""
    server = PretendingServer(mode)
    server.start()
    try:
        yield server
    finally:
        server.stop()
