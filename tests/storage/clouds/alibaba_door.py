"""The suite's S3 as Alibaba's clients expect OSS to answer: they sign for OSS, and moto checks no signature.

Nobody offers a server of OSS. What is Alibaba's own here are the two clients, in Python and in Java: their
requests, their pages of listings, their errors. How OSS itself keeps conditions can't be seen with this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from paimark.core.storage.open import open_files
from tests.storage.clouds.emulators import install_client, installed, with_importable
from tests.storage.local_http import Answer, Handler, LocalServer
from tests.storage.stores import S3Server

_CLIENT = "ossfs==2025.5.0"
_STATUS = {"AccessDenied": 403, "NoSuchBucket": 404, "InvalidAccessKeyId": 403, "SecurityTokenExpired": 403}
# By this header its clients see that OSS itself answered.
_NUMBERED = ("x-oss-request-id", "5C3D9175B6FC201293AD")
_NAMESPACE = re.compile(rb' xmlns="[^"]*"')


class AlibabaDoor(LocalServer):
    """`error` is the code with which it refuses every request; `404` is that of a proxy. Empty passes on.

    `requests` has the method, the path and the client of each.
    """

    def __init__(self, server: S3Server) -> None:
        self.error = ""
        self.requests: list[tuple[str, str, str]] = []
        target = server.endpoint.removeprefix("http://")
        door = self

        class Translator(Handler):
            def handle_request(self) -> None:
                body = self.body()
                door.requests.append((self.command, self.path, self.headers.get("User-Agent", "")))
                if door.error:
                    self.pass_on(_refusal(door.error, self.command))
                else:
                    asked = self.forwarded(target, body, dict(self.headers.items()))
                    self.pass_on(_in_dialect(asked))

        super().__init__(Translator)

    def options(self) -> dict[str, str]:
        return {
            "fs.oss.endpoint": self.endpoint,
            "fs.oss.accessKeyId": "key",
            "fs.oss.accessKeySecret": "secret",
        }


def _in_dialect(answer: Answer) -> Answer:
    """OSS's XML has no namespace, and a kind for each object."""
    body = answer.body
    if b"<ListBucketResult" in body[:200]:
        body = _NAMESPACE.sub(b"", body, count=1).replace(b"</ETag>", b"</ETag><Type>Normal</Type>")
    length = str(len(body))
    # An answer to HEAD has the length of an object, and no body.
    headers = tuple(
        (name, length if name.lower() == "content-length" and body else value)
        for name, value in answer.headers
    )
    return Answer(answer.status, (*headers, _NUMBERED), body)


def _refusal(error: str, method: str) -> Answer:
    if error == "404":
        return Answer(404, (("Content-Length", "0"),), b"")
    body = f"<Error><Code>{error}</Code><Message>It is {error}.</Message></Error>".encode()
    body = b"" if method == "HEAD" else body
    return Answer(_STATUS[error], (("Content-Length", str(len(body))), _NUMBERED), body)


@pytest.fixture(scope="session")
def alibaba_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Alibaba's client for Python can be imported here and in child processes."""
    tools = installed(tmp_path_factory, "alibaba", lambda tools: install_client(tools, _CLIENT))
    with with_importable(tools / "clients"):
        yield


@pytest.fixture
def alibaba(alibaba_client: None, s3: S3Server) -> Iterator[AlibabaDoor]:
    with AlibabaDoor(s3) as door:
        yield door


def put_all(s3: S3Server, warehouse: str, contents: dict[str, bytes]) -> None:
    """Write files below `oss://lake/...`, by the way of S3."""
    files = open_files(warehouse.replace("oss://", "s3://"), s3.options())
    for path, data in contents.items():
        files.replace(path, data)
