"""A door to the suite's S3 that answers for data files with an error of S3's own, when it is told to."""

from __future__ import annotations

import http.client
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# What the store says, by the word for it.
_STATUS = {
    "ExpiredToken": 400,
    "InvalidAccessKeyId": 403,
    "AccessDenied": 403,
    "NoSuchBucket": 404,
    "RequestTimeTooSkewed": 403,
    "SlowDown": 503,
}


class Door:
    """`error` is what it answers for data files: a word of S3's, `gone` for no answer; empty passes on."""

    def __init__(self, server: str) -> None:
        self.error = ""
        target = server.removeprefix("http://")
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if door.error and "/bucket-" in self.path:
                    return self.refuse(door.error)
                connection = http.client.HTTPConnection(target)
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                        self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = forward

            def refuse(self, error: str) -> None:
                if error == "gone":
                    self.close_connection = True
                    return
                text = f"<Error><Code>{error}</Code><Message>{error}</Message></Error>".encode()
                self.send_response(_STATUS[error])
                self.send_header("Content-Length", str(len(text)))
                self.send_header("Content-Type", "application/xml")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            def log_request(self, *_: object) -> None:
                """The server behind has a log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Door:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
