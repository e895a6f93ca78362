"""Keys that end while a warehouse is open: others that replace them are found, or the end is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.stores.access import s3_identity
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files, options_for_others
from paimark.core.storage.s3.s3_files import S3Files
from tests.eventually import eventually
from tests.long import long_but
from tests.storage.local_http import Answer, Handler, LocalServer
from tests.storage.pretending import PretendingServer
from tests.storage.stores import BUCKET

pytestmark = pytest.mark.usefixtures("nobody")
CALLS: dict[str, Callable[[Files], object]] = {
    "exists": lambda files: files.exists("t/a"),
    "names": lambda files: files.names("t"),
    "read": lambda files: files.read("t/a"),
    "read_many": lambda files: list(files.read_many(["t/a"] * 50)),
    "create": lambda files: files.create("t/new", b"new"),
    "replace": lambda files: files.replace("t/a", b"there"),
    "delete": lambda files: files.delete("t/other"),
}


@pytest.fixture
def server() -> Iterator[PretendingServer]:
    with PretendingServer("keeps") as server:
        server.objects = {"lake/t/a": b"there", "lake/t/other": b""}
        yield server


@pytest.fixture
def use(server: PretendingServer, tmp_path: Path) -> Callable[[str], None]:
    """Writes a key to the file of credentials, and lets the store take no other."""

    def use(key: str) -> None:
        write_key(tmp_path, key)
        server.access_keys = {key}

    return use


def write_key(place: Path, key: str) -> None:
    keys = f"aws_access_key_id = {key}\naws_secret_access_key = s\naws_session_token = of-{key}\n"
    (place / "credentials").write_text(f"[default]\n{keys}")


def opened(server: PretendingServer) -> S3Files:
    options = {name: value for name, value in server.options().items() if "key" not in name}
    files = open_files(f"s3://{BUCKET}/lake", options)
    assert isinstance(files, S3Files)
    files.must_prove = False
    return files


@pytest.mark.parametrize("name", long_but(CALLS, "read_many", "create"))
def test_rewritten_keys_are_found_after_a_refusal(
    name: str, server: PretendingServer, use: Callable[[str], None]
) -> None:
    files = opened(server)
    for key in ("first", "second", "third"):
        use(key)
        CALLS[name](files)
        server.objects.pop("lake/t/new", None)
    assert server.objects["lake/t/a"] == b"there" and files.read("t/a") == b"there"


@pytest.mark.parametrize("name", long_but(CALLS, "names", "replace"))
def test_keys_that_nobody_replaced_are_told_and_asked_for_once(
    name: str, server: PretendingServer, use: Callable[[str], None], tmp_path: Path
) -> None:
    files = opened(server)
    use("first")
    assert files.read("t/a") == b"there"
    server.access_keys = set()
    for text in ((tmp_path / "credentials").read_text(), "[default", ""):
        (tmp_path / "credentials").write_text(text)
        before = len(server.requests)
        with pytest.raises(Unavailable, match=r"The provided token has expired$") as told:
            CALLS[name](files)
        assert told.value.hint.startswith("Sign in again")
        assert len(server.requests) - before <= 50
    # Others that are refused as well.
    write_key(tmp_path, "second")
    with pytest.raises(Unavailable, match=r"The provided token has expired$"):
        CALLS[name](files)
    server.access_keys = {"second"}
    CALLS[name](files)


def test_keys_of_options_are_the_only_ones(server: PretendingServer, tmp_path: Path) -> None:
    write_key(tmp_path, "other")
    files = open_files(f"s3://{BUCKET}/lake", server.options())
    server.access_keys = {"other"}
    with pytest.raises(Unavailable, match=r"The provided token has expired$"):
        files.read("t/a")


def test_other_clients_get_rewritten_keys_before_a_refusal(
    server: PretendingServer, use: Callable[[str], None]
) -> None:
    files = opened(server)
    use("first")
    # Spark's readers find these by themselves, on the same machine.
    assert s3_identity(files, elsewhere=False).key == ""
    assert s3_identity(files, elsewhere=True).key == "first"
    for key in ("second", "third"):
        use(key)
        assert s3_identity(files, elsewhere=False)[3:] == (key, "s", f"of-{key}")
        assert options_for_others(files, {})["s3.access-key"] == key
        assert files.read("t/a") == b"there"
    assert len([each for each in server.requests if each.startswith("GET")]) == 2


def test_a_program_is_asked_again(server: PretendingServer, tmp_path: Path) -> None:
    """It names no time at which its keys end."""
    files = opened(server)
    program_of(tmp_path)
    for key in ("first", "second"):
        answer(tmp_path, key, None)
        server.access_keys = {key}
        assert files.read("t/a") == b"there"
    assert s3_identity(files, elsewhere=False).key == "second"


def test_keys_that_end_soon_are_asked_for_before(server: PretendingServer, tmp_path: Path) -> None:
    files = opened(server)
    program_of(tmp_path)
    for key in ("first", "second"):
        answer(tmp_path, key, datetime.now(UTC) + timedelta(minutes=12))
        server.access_keys = {key}
        assert s3_identity(files, elsewhere=True).key == key
        assert files.read("t/a") == b"there"


def program_of(place: Path) -> None:
    program = place / "program.py"
    program.write_text(f"print(open({str(place / 'answer')!r}).read())")
    (place / "config").write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")


def answer(place: Path, key: str, until: datetime | None) -> None:
    keys = {"Version": 1, "AccessKeyId": key, "SecretAccessKey": "s", "SessionToken": f"of-{key}"}
    more = {} if until is None else {"Expiration": until.isoformat()}
    (place / "answer").write_text(json.dumps(keys | more))


def test_a_role_is_assumed_with_the_rewritten_keys(
    server: PretendingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a person who has signed in with a code, and then takes a role."""

    class Sts(Handler):
        def handle_request(self) -> None:
            self.body()
            base = self.access_key
            body = _ASSUMED.format(key=f"role-of-{base}") if base == taken[-1] else _REFUSED
            status = 200 if base == taken[-1] else 403
            self.pass_on(Answer(status, (("Content-Length", str(len(body))),), body.encode()))

    taken = ["first"]
    (tmp_path / "config").write_text(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\nregion = x\n"
    )
    files = opened(server)
    with LocalServer(Sts) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.endpoint)
        for key in ("first", "second"):
            taken.append(key)
            write_key(tmp_path, key)
            text = (tmp_path / "credentials").read_text().replace("[default]", "[base]")
            (tmp_path / "credentials").write_text(text)
            server.access_keys = {f"role-of-{key}"}
            assert files.read("t/a") == b"there"
            assert s3_identity(files, elsewhere=True).key == f"role-of-{key}"


_REFUSED = "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>expired</Message></Error></ErrorResponse>"
_ASSUMED = (
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{key}</AccessKeyId>"
    "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
    "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)


@pytest.mark.parametrize("name", long_but(CALLS, "read", "delete"))
def test_the_first_keys_may_come_late(
    name: str, server: PretendingServer, use: Callable[[str], None]
) -> None:
    """As in a console that was opened before anybody signed in."""
    files = opened(server)
    for _ in range(2):
        with pytest.raises(Unavailable, match="Unable to locate credentials") as told:
            CALLS[name](files)
        assert told.value.hint.startswith("Check the credentials")
    assert not server.requests
    for key in ("first", "second"):
        use(key)
        CALLS[name](files)
        server.objects.pop("lake/t/new", None)
    assert s3_identity(files, elsewhere=False).key == "second"


def test_a_profile_may_come_late(
    server: PretendingServer, use: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    files = opened(server)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"profile .*mine.* could not be found"):
            files.read("t/a")
    use("first")
    text = (tmp_path / "credentials").read_text().replace("[default]", "[mine]")
    (tmp_path / "credentials").write_text(text)
    assert files.read("t/a") == b"there"


def test_a_client_with_earlier_keys_is_closed(
    server: PretendingServer, use: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.core.storage.s3.s3_files._DRAIN_SECONDS", 0.1)
    files = opened(server)
    first = 0
    for number in range(6):
        use(f"key-{number}")
        assert files.read("t/a") == b"there"
        first = first or server.connections
    # Sooner than a server closes what nobody uses.
    eventually(lambda: server.connections <= first, seconds=5)
