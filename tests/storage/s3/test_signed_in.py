"""Someone signs in again (`aws sso login`) while a warehouse is open; a small service gives the keys.

In a process of its own: botocore takes the home directory when it is imported.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.long import long_but
from tests.storage.local_http import Answer, Handler, LocalServer
from tests.storage.pretending import PretendingServer
from tests.storage.stores import BUCKET

START = "https://x.invalid/start"
_SESSION = f"[sso-session x]\nsso_region = us-east-1\nsso_start_url = {START}\n"
_PROFILE = "[default]\nsso_account_id = 1\nsso_role_name = r\n"
# A profile, and the name after which the file with its token is called.
PROFILES = {
    "with a session": (f"{_PROFILE}sso_session = x\n{_SESSION}", "x"),
    "of old": (f"{_PROFILE}sso_start_url = {START}\nsso_region = us-east-1\n", START),
}
# Reads at each line, and prints the access key that Spark is given and the file's text, or the error.
_READER = """
import json, sys
from paimark.core.errors import Unavailable
from paimark.core.spark.stores.access import s3_identity
from paimark.core.storage.open import open_files

files = open_files(sys.argv[1], json.loads(sys.argv[2]))
for _ in sys.stdin:
    try:
        print(s3_identity(files, elsewhere=False).key, files.read("t/a").decode(), flush=True)
    except Unavailable as error:
        print(error.message, error.hint, flush=True)
"""


class SignIn(LocalServer):
    """Gives keys that end soon, for one token."""

    def __init__(self) -> None:
        self.token = ""
        service = self

        class Service(Handler):
            def handle_request(self) -> None:
                token = self.headers["x-amz-sso_bearer_token"]
                if token == service.token:
                    until = int((datetime.now(UTC) + timedelta(minutes=12)).timestamp() * 1000)
                    keys = {"accessKeyId": f"of-{token}", "secretAccessKey": "s", "sessionToken": "t"}
                    self._answer(200, {"roleCredentials": keys | {"expiration": until}})
                else:
                    self._answer(401, {"message": "Session token not found or invalid"})

            def _answer(self, status: int, said: object) -> None:
                body = json.dumps(said).encode()
                headers = (("Content-Length", str(len(body))), ("x-amzn-ErrorType", "UnauthorizedException"))
                self.pass_on(Answer(status, headers if status == 401 else headers[:1], body))

        super().__init__(Service)


@contextmanager
def reader(server: PretendingServer) -> Iterator[subprocess.Popen[str]]:
    options = {name: value for name, value in server.options().items() if "key" not in name}
    command = [sys.executable, "-c", _READER, f"s3://{BUCKET}/lake", json.dumps(options)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def read(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("kind", long_but(PROFILES, "with a session"))
def test_who_signs_in_again_goes_on(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile, name = PROFILES[kind]

    def sign_in(token: str, minutes: int) -> None:
        until = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
        held = {"startUrl": START, "region": "us-east-1", "accessToken": token, "expiresAt": until}
        cache = tmp_path / ".aws" / "sso" / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / f"{hashlib.sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(held))

    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config").write_text(profile)
    with PretendingServer("keeps") as server, SignIn() as service:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", service.endpoint)
        server.objects = {"lake/t/a": b"there"}
        with reader(server) as process:
            for token in ("first", "second"):
                service.token, server.access_keys = token, {f"of-{token}"}
                sign_in(token, 60)
                assert read(process) == f"of-{token} there"
                service.token, server.access_keys = "", set()
                for minutes in (60, -5):
                    sign_in(token, minutes)
                    message = read(process)
                    assert "The provided token has expired Sign in again (`aws sso login`)" in message
