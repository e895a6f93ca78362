"""Catalog options of S3: what its clients are told of them, and of what was found beside them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from paimark.core.redaction import redacted
from paimark.core.storage.open import open_files, options_for_others
from paimark.core.storage.s3.s3_options import s3_arguments

pytestmark = pytest.mark.usefixtures("nobody")
LAKE = "s3://lake/warehouse"
HERE = {"s3.endpoint": "http://127.0.0.1:8", "s3.region": "us-east-1"}
BY_PATH = {"s3.path.style.access": "true"}


def client_options(options: dict[str, str]) -> dict[str, str]:
    return options_for_others(open_files(LAKE, options), options)


def test_the_time_limits_add_up_to_about_ten_seconds() -> None:
    config = s3_arguments({})["config_kwargs"]
    assert isinstance(config, dict)
    assert (config["connect_timeout"] + config["read_timeout"]) * config["retries"][
        "total_max_attempts"
    ] <= 16
    assert config["read_timeout"] * config["retries"]["total_max_attempts"] <= 10


@pytest.mark.parametrize("prefix", ["s3.", "s3a.", "fs.s3a.", "fs.s3.", "S3.", "FS.S3A."])
def test_options_have_paimons_names(prefix: str) -> None:
    names = {
        "endpoint": "minio:9000",
        "access.key": "k",
        "secret.key": "s",
        "session.token": "t",
        "path.style.access": "true",
        "endpoint.region": "eu",
    }
    arguments = s3_arguments({prefix + name: value for name, value in names.items()} | {"metastore": "x"})
    config = arguments.pop("config_kwargs")
    assert isinstance(config, dict)
    assert config["s3"] == {"addressing_style": "path"}
    assert arguments == {
        "endpoint_url": "https://minio:9000",
        "key": "k",
        "secret": "s",
        "token": "t",
        "client_kwargs": {"region_name": "eu"},
    }


def test_other_clients_are_told_the_endpoint_of_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(
        "[profile lake]\nregion = eu-north-1\nendpoint_url = http://127.0.0.1:9\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "lake")
    found = {"s3.endpoint": "http://127.0.0.1:9", "s3.region": "eu-north-1"}
    # A store of one's own seldom answers at bucket.host.
    assert client_options({}) == found | BY_PATH
    assert client_options({"s3.path.style.access": "false"}) == found | {"s3.path.style.access": "false"}
    assert client_options(HERE) == HERE | BY_PATH
    assert options_for_others(open_files(str(tmp_path)), {}) == {}


def test_the_region_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Amazon's own programs, before the variable that Python's alone knows; an option is nearer."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert client_options({}) == {"s3.region": "eu-north-1"}
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert client_options({}) == {"s3.region": "eu-west-1"}
    assert client_options({"s3.region": "us-west-2"}) == {"s3.region": "us-west-2"}


def test_other_clients_are_told_options_by_the_names_that_they_know() -> None:
    """pypaimon passes over other spellings, and would read as somebody else, or somewhere else."""
    spelled = {
        "fs.s3a.access_key": "k",
        "s3.accessKeySecret": "s",
        "s3.securityToken": "t",
        "s3a.endpoint": "minio:9000",
        "s3.connection.ssl.enabled": "FALSE",
        "s3.endpoint.region": "eu",
        "s3.path_style_access": "True",
    }
    others = {"s3.connection.timeout": "7000", "lock.enabled": "false"}
    assert client_options(spelled | others) == others | BY_PATH | {
        "s3.access-key": "k",
        "s3.secret-key": "s",
        "s3.session-token": "t",
        "s3.endpoint": "http://minio:9000",
        "s3.region": "eu",
    }


def test_an_empty_token_is_none() -> None:
    keys = {"s3.access-key": "k", "s3.secret-key": "s"}
    assert client_options(HERE | keys | {"s3.session-token": ""}) == HERE | BY_PATH | keys
    assert not s3_arguments(keys | {"s3.session-token": ""}).get("token")


@pytest.mark.parametrize("place", ["config", "credentials"])
def test_other_clients_are_told_the_keys_of_a_program(tmp_path: Path, place: str) -> None:
    """Arrow's looks for one in the one file alone, and in no profile of a role."""
    answer = (
        '{"Version": 1, "AccessKeyId": "program", "SecretAccessKey": "hidden-key", "SessionToken": "tok"}'
    )
    (tmp_path / "program.py").write_text(f"print({answer!r})\n")
    program = f"{sys.executable} {tmp_path}/program.py"
    (tmp_path / place).write_text(f"[default]\ncredential_process = {program}\n")
    keys = {"s3.access-key": "program", "s3.secret-key": "hidden-key", "s3.session-token": "tok"}
    assert client_options(HERE) == HERE | BY_PATH | keys
    assert redacted("the hidden-key") == "the ***"
    own = {"s3.access-key": "k", "s3.secret-key": "s"}
    assert client_options(HERE | own) == HERE | BY_PATH | own


def test_other_clients_are_told_the_keys_of_the_environment_and_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may read on another machine, which has neither."""
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = p\naws_secret_access_key = q\n")
    assert client_options(HERE) == HERE | BY_PATH | {"s3.access-key": "p", "s3.secret-key": "q"}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "e")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "f")
    assert client_options(HERE) == HERE | BY_PATH | {"s3.access-key": "e", "s3.secret-key": "f"}
