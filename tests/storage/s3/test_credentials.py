"""Credentials of S3 that can't be had: told as that, and never taken for files that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.stores.access import s3_identity
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files, options_for_others
from tests.cli.command import program
from tests.storage.local_http import Answer, Handler, LocalServer
from tests.wording import about

pytestmark = pytest.mark.usefixtures("nobody")
HERE = {"s3.endpoint": "http://127.0.0.1:1", "s3.region": "us-east-1"}
ROLE = "arn:aws:iam::123456789012:role/reader"
REFUSED = (
    b"<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
    b"<Message>alice is not authorized to assume reader</Message></Error></ErrorResponse>"
)
CALLS: dict[str, Callable[[Files], object]] = {
    "exists": lambda files: files.exists("t/a"),
    "size": lambda files: files.size("t/a"),
    "names": lambda files: files.names("t"),
    "read": lambda files: files.read("t/a"),
    "read_many": lambda files: list(files.read_many(["t/a", "t/b"])),
    "etags": lambda files: files.etags("t"),
    "create": lambda files: files.create("t/a", b""),
    "replace": lambda files: files.replace("t/a", b""),
    "delete": lambda files: files.delete("t/a"),
    "delete_own": lambda files: files.delete_own("t/a", lambda data: True),
    "for others": lambda files: options_for_others(files, HERE),
    "for Spark": lambda files: s3_identity(files, elsewhere=True),
}


@pytest.fixture
def gone(tmp_path: Path) -> str:
    """A program that is on no disk any more, as of one that is mounted."""
    return str(tmp_path / "gone")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_program_that_is_gone_makes_no_file_missing(
    call: Callable[[Files], object], gone: str, tmp_path: Path
) -> None:
    """All files were missing then, and deletions done: who looks what is needed would have found nothing."""
    (tmp_path / "config").write_text(f"[default]\ncredential_process = {gone}\n")
    with pytest.raises(Unavailable, match=f"can't be used: No such file or directory: '{gone}'$") as told:
        call(open_files("s3://lake/warehouse", HERE))
    assert "credential_process" in told.value.hint


def test_nor_does_a_token_that_is_gone(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a pod."""
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", gone)
    files = open_files("s3://lake/warehouse", HERE)
    for call in CALLS.values():
        with pytest.raises(Unavailable, match=f"No such file or directory: '{gone}'$"):
            call(files)


def test_a_role_that_asks_for_a_code_is_refused(tmp_path: Path) -> None:
    """The client would ask at the terminal, over the console and for its keys, and each process again."""
    (tmp_path / "config").write_text(
        f"[default]\nrole_arn = {ROLE}\nsource_profile = base\nregion = x\nmfa_serial = device\n"
    )
    (tmp_path / "credentials").write_text("[base]\naws_access_key_id = a\naws_secret_access_key = b\n")
    files = open_files("s3://lake/warehouse", HERE)
    for call in CALLS.values():
        with pytest.raises(Unavailable, match=r"MFA token required$") as told:
            call(files)
        assert "aws sts get-session-token" in told.value.hint


CORRECT_IT = ("~/.aws/config", "AWS_PROFILE")


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        ("[profile", CORRECT_IT),
        (f"[default]\nrole_arn = {ROLE}\nsource_profile = none\n", CORRECT_IT),
        ('[default]\ncredential_process = "unclosed\n', CORRECT_IT),
        (
            "[default]\nsso_session = none\nsso_account_id = 1\nsso_role_name = r\n",
            CORRECT_IT,
        ),
        (
            "[default]\nsso_session = x\nsso_account_id = 1\nsso_role_name = r\n"
            "[sso-session x]\nsso_region = us-east-1\nsso_start_url = https://x.invalid/start\n",
            ("sign in",),
        ),
    ],
)
def test_a_profile_that_cannot_be_is_told_where(config: str, hint: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "config").write_text(config)
    with pytest.raises(Unavailable) as told:
        open_files("s3://lake/warehouse", HERE).read("t/a")
    assert about(*hint).search(told.value.hint), (told.value.message, told.value.hint)


def test_a_program_that_answers_something_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"[default]\ncredential_process = {sys.executable} --version\n")
    with pytest.raises(Unavailable) as told:
        open_files("s3://lake/warehouse", HERE).read("t/a")
    assert "credential_process" in told.value.hint


def test_a_role_that_is_refused_is_a_sentence_and_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sts(Handler):
        def handle_request(self) -> None:
            self.body()
            self.pass_on(Answer(403, (("Content-Length", str(len(REFUSED))),), REFUSED))

    (tmp_path / "config").write_text(f"[default]\nrole_arn = {ROLE}\nsource_profile = base\nregion = x\n")
    (tmp_path / "credentials").write_text("[base]\naws_access_key_id = a\naws_secret_access_key = b\n")
    with LocalServer(Sts) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.endpoint)
        files = open_files("s3://lake/warehouse", HERE)
        for call in (CALLS["read"], CALLS["for others"], CALLS["for Spark"]):
            with pytest.raises(Unavailable, match=r"alice is not authorized to assume reader$"):
                call(files)
        ran = program("--warehouse", "s3://lake/warehouse", "--option", "s3.region=eu-west-1", "tables")
    assert ran.code == 3 and len(ran.err.splitlines()) == 2, ran.err
