"""A small S3 server of our own, which keeps the conditions of writes or only pretends to."""

from __future__ import annotations

import hashlib
import socket
import struct
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Condition
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.storage.local_http import Handler, LocalServer, s3_options
from tests.storage.stores import BUCKET

# keeps: as S3 does. ignores: takes conditions and writes. looks first: two that look at once both write.
Mode = Literal[
    "keeps",
    "ignores",
    "looks first",
    "looks first to replace",
    "ignores If-Match",
    "gives no etag",
    "lets nobody win",
    "deletes anyway",
    "looks first to delete",
]
# Of a server that deletes so, changes are safe.
PRETENDING: tuple[Mode, ...] = (
    "ignores",
    "looks first",
    "looks first to replace",
    "ignores If-Match",
    "gives no etag",
    "lets nobody win",
)
# How long a server that looks first to delete waits for another request.
_PATIENCE_SECONDS = 0.5
# How far a client's clock may be off, as on S3.
_MOST_SKEW_SECONDS = 15 * 60


class Fault(NamedTuple):
    """What goes wrong with one request, after the server did what it asks where `acted`.

    `status` 0 is a connection that breaks; `half` sends the first half of the true answer's body.
    `seconds` pass before the first byte.
    """

    status: int = 0
    code: str = ""
    message: str = ""
    acted: bool = False
    half: bool = False
    seconds: float = 0


EXPIRED = Fault(400, "ExpiredToken", "The provided token has expired.")
DENIED = Fault(403, "AccessDenied", "Access Denied")
FULL = Fault(507, "XMinioStorageFull", "Storage backend has reached its minimum free drive threshold.")
SKEWED = Fault(
    403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."
)
LOST = Fault(acted=True)
GONE = Fault()


class PretendingServer(LocalServer):
    """An S3 with a bucket `lake`.

    `objects` are the bucket's by key; `requests` the method and key of each request so far.
    """

    def __init__(self, mode: Mode) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.mode = mode
        # How long a server that looks first takes until it writes.
        self.looks_seconds = 0.02
        # The files that a server looked at before it deletes them, which it does once they are replaced.
        self._looked_at: set[str] = set()
        # Of the next so many creations it says that another request is under way; `meanwhile` is what that
        # does with the key, the bytes and the mark of whoever asks.
        self.conflicts = 0
        self.meanwhile: Callable[[str, bytes, str], object] = lambda key, data, mark: None
        self.marks: dict[str, str] = {}
        # What is wrong with a request, by its method and key, or what a listing is of.
        self.fault: Callable[[str, str], Fault | None] = lambda method, key: None
        # The access keys that have not expired; None for all.
        self.access_keys: set[str] | None = None
        # How far the server's clock is ahead.
        self.clock_ahead = timedelta()
        self._lock = Condition()
        super().__init__(self._handler())

    def options(self) -> dict[str, str]:
        """Paimon's catalog options for this server."""
        return s3_options(self.endpoint)

    def put(self, key: str, data: bytes, none_match: str | None, match: str | None) -> int:
        """The status of a PUT."""
        if self.mode == "ignores":
            none_match = match = None
        if self.mode == "ignores If-Match":
            match = None
        if self.mode == "lets nobody win" and none_match:
            return 412
        if self.mode == "looks first" or (self.mode == "looks first to replace" and match):
            if not self._holds(key, none_match, match):
                return 412
            time.sleep(self.looks_seconds)
            none_match = match = None
        with self._lock:
            if not self._holds(key, none_match, match):
                return 412
            if self.mode == "looks first to delete" and key in self.objects and not match:
                self._lock.wait_for(lambda: key in self._looked_at, _PATIENCE_SECONDS)
            self.objects[key] = data
            self._lock.notify_all()
        return 200

    def delete(self, key: str, match: str | None) -> int:
        """The status of a DELETE."""
        if match is not None and self.mode != "deletes anyway":
            with self._lock:
                if not self._holds(key, None, match):
                    return 412 if key in self.objects else 404
                if self.mode != "looks first to delete":
                    self.objects.pop(key)
                    return 204
                self._looked_at.add(key)
                self._lock.notify_all()
                self._lock.wait_for(lambda: not self._holds(key, None, match), _PATIENCE_SECONDS)
        self.objects.pop(key, None)
        return 204

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

    def _handler(self) -> type[Handler]:
        server = self

        class Pretender(Handler):
            def parse_request(self) -> bool:
                self._fault: Fault | None = None
                return super().parse_request()

            def _is_refused(self) -> bool:
                """Whether this request is answered without being carried out."""
                asked = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
                self._fault = (
                    server.fault(self.command, self._key() or asked) or self._expired() or self._skewed()
                )
                if self._fault is None:
                    return False
                time.sleep(self._fault.seconds)
                if self._fault.acted or self._fault.half or self._fault.seconds:
                    return False
                self._answer(200)
                return True

            def _expired(self) -> Fault | None:
                keys = server.access_keys
                return EXPIRED if keys is not None and self.access_key not in keys else None

            def _skewed(self) -> Fault | None:
                told = self.headers.get("X-Amz-Date", "")
                if not told or not server.clock_ahead:
                    return None
                away = server.now() - datetime.strptime(told, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
                return SKEWED if abs(away.total_seconds()) > _MOST_SKEW_SECONDS else None

            def do_PUT(self) -> None:
                body = self.body()
                if "aws-chunked" in self.headers.get("Content-Encoding", ""):
                    body = _unchunked(body)
                if self._is_refused():
                    return
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
                if self._is_refused():
                    return
                asked = parse_qs(urlsplit(self.path).query)
                if "list-type" in asked:
                    self._answer(200, server.listed(asked.get("prefix", [""])[0]).encode())
                else:
                    self._send_object()

            def do_HEAD(self) -> None:
                if not self._is_refused():
                    self._send_object()

            def do_DELETE(self) -> None:
                if self._is_refused():
                    return
                status = server.delete(self._key(), self.headers.get("If-Match"))
                self._answer(status, _ERRORS.get(status, b""))

            def _send_object(self) -> None:
                data = server.objects.get(self._key())
                if data is None:
                    self._answer(404, _ERRORS[404])
                else:
                    self._answer(200, data, etag(data))

            def _answer(self, status: int, body: bytes = b"", mark: str = "") -> None:
                server.requests.append(f"{self.command} {self._key()}")
                fault = self._fault
                if fault is not None and fault.status:
                    status, mark = fault.status, ""
                    body = (
                        f"<Error><Code>{fault.code}</Code><Message>{fault.message}</Message></Error>".encode()
                    )
                elif fault is not None and not fault.half and not fault.seconds:
                    self._break_off()
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("x-amz-request-id", "1")
                if server.mode != "gives no etag":
                    self.send_header("ETag", f'"{mark}"')
                if self.command != "PUT" and status == 200:
                    self.send_header(_MARK, server.marks.get(self._key(), ""))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body[: len(body) // 2] if fault is not None and fault.half else body)
                if fault is not None and fault.half:
                    self._break_off()

            def _break_off(self) -> None:
                """As a machine does that is gone: no answer, and no orderly end."""
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string(timestamp or server.now().timestamp())

            def _key(self) -> str:
                return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")

        return Pretender

    def now(self) -> datetime:
        """What the server's clock shows."""
        return datetime.now(UTC) + self.clock_ahead


_MARK = "x-amz-meta-paimark-write"
_ERRORS = {
    404: b"<Error><Code>NoSuchKey</Code></Error>",
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
