"""S3 against a real server: one request a call, one winner a file, and answers when nothing answers."""

from __future__ import annotations

import socket
import subprocess
import uuid

import pytest

from paimark.core.errors import Corrupt, NotFound, Unavailable, UsageError
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files, require_conditions
from tests.storage.pretending import FULL, Fault, PretendingServer
from tests.storage.stores import BUCKET, Proxy, S3Server
from tests.wording import about


@pytest.fixture
def address() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


def open_s3(server: S3Server, address: str, endpoint: str | None = None, **more: str) -> Files:
    return open_files(address, {**server.options(endpoint), **more})


def requests_of(server: S3Server, address: str, before: int) -> list[str]:
    """The requests for this warehouse's files since `before`, without what proves the store once."""
    key = address.removeprefix("s3://")
    return [each for each in server.requests()[before:] if key in each or "list-type" in each]


def test_a_file_costs_one_get_however_many_are_read(s3: S3Server, address: str) -> None:
    files = open_s3(s3, address)
    for number in range(40):
        files.replace(f"t/n-{number}", b"x")
    before = len(s3.requests())
    assert list(files.read_many(f"t/n-{number}" for number in range(40))) == [b"x"] * 40
    assert files.read("t/n-0") == b"x"
    requests = requests_of(s3, address, before)
    assert len(requests) == 41
    assert all(each.startswith("GET ") for each in requests)


def test_etags_cost_one_listing(s3: S3Server, address: str) -> None:
    files = open_s3(s3, address)
    files.replace("t/a", b"x")
    before = len(s3.requests())
    assert None not in files.etags("t").values()
    assert len(s3.requests()) == before + 1


def test_listing_nothing_costs_one_request(s3: S3Server, address: str) -> None:
    files = open_s3(s3, address)
    before = len(s3.requests())
    assert files.names("t/tag") == []
    assert len(s3.requests()) == before + 1


def test_a_listing_goes_on_over_pages(s3: S3Server, address: str) -> None:
    # With our own client each would cost as much as all of them.
    files = f"{s3.endpoint}/{address.removeprefix('s3://')}/t/n-[0-1099]"
    subprocess.run(["curl", "-sf", "-X", "PUT", "-d", "x", files], check=True)
    assert sorted(open_s3(s3, address).names("t")) == sorted(f"n-{number}" for number in range(1100))


def test_a_marker_of_a_directory_is_no_entry(s3: S3Server, address: str) -> None:
    files = open_s3(s3, address)
    files.create("t/snapshot/snapshot-1", b"x")
    subprocess.run(
        ["curl", "-sf", "-X", "PUT", f"{s3.endpoint}/{address.removeprefix('s3://')}/t/snapshot/"], check=True
    )
    assert files.names("t/snapshot") == ["snapshot-1"]
    assert files.names("t") == ["snapshot"]


def test_the_winner_is_told_so_when_the_first_answer_was_lost(s3: S3Server, address: str) -> None:
    is_proven, puts = list[bool](), list[str]()

    def lose_one_answer(method: str, headers: dict[str, str]) -> str:
        if method == "PUT" and is_proven:
            puts.append(method)
        return "nothing" if method == "PUT" and len(puts) == 1 else "all"

    with Proxy(s3, lose_one_answer) as proxy:
        files = open_s3(s3, address, proxy.endpoint)
        assert files.create("t/first", b"")
        is_proven.append(True)
        assert files.create("t/a", b"mine")
        assert len(puts) == 2
        assert not files.create("t/a", b"mine")


def test_a_file_whose_body_broke_off_is_read_again(s3: S3Server, address: str) -> None:
    gets: list[str] = []

    def break_every_third(method: str, headers: dict[str, str]) -> str:
        gets.append(method)
        return "half" if len(gets) % 3 == 0 else "all"

    data = bytes(100_000)
    open_s3(s3, address).replace("t/a", data)
    with Proxy(s3, break_every_third) as proxy:
        assert list(open_s3(s3, address, proxy.endpoint).read_many(["t/a"] * 7)) == [data] * 7
    assert len(gets) > 7


def test_a_bucket_that_does_not_exist_is_no_warehouse(s3: S3Server) -> None:
    files = open_s3(s3, "s3://no-such-bucket/warehouse")
    with pytest.raises(NotFound, match=about("no warehouse", "s3://no-such-bucket/warehouse")):
        files.entries("")


@pytest.mark.parametrize("bucket", ["my lake", "key@lake"])
def test_a_bucket_that_cannot_be_is_told_how_to_write_it(s3: S3Server, bucket: str) -> None:
    with pytest.raises(UsageError, match=about(f"'{bucket}'", "bucket name")) as refused:
        open_s3(s3, f"s3://{bucket}/warehouse")
    assert "s3://bucket/path" in refused.value.hint


def test_a_server_that_says_nothing_is_given_up(s3: S3Server, address: str) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        files = open_s3(s3, address, endpoint, **{"s3.connection.timeout": "200"})
        with pytest.raises(Unavailable, match="can't be used") as caught:
            files.read("t/a")
        with pytest.raises(Unavailable, match="can't be used"):
            list(files.read_many(["t/a", "t/b"]))
        # The client waits without end for leave to send a body: here the deadline is what gives up.
        with pytest.raises(Unavailable, match=about(address, "no answer")):
            files.replace("t/a", b"x")
    assert "s3.endpoint" in caught.value.hint


def test_a_closed_port_is_one_sentence_without_the_request(s3: S3Server, address: str) -> None:
    files = open_s3(s3, address, "http://127.0.0.1:1")
    with pytest.raises(Unavailable, match=r"^s3://.* can't be used: .* .http://127.0.0.1:1/lake.$"):
        files.entries("t")


def test_missing_credentials_are_asked_for(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    files = open_files(address, {"s3.endpoint": s3.endpoint, "s3.region": "us-east-1"})
    with pytest.raises(Unavailable, match="Unable to locate credentials") as caught:
        files.read("t/a")
    assert "s3.access-key" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (301, "PermanentRedirect", "The bucket must be addressed using the specified endpoint"),
        (400, "AuthorizationHeaderMalformed", "The region 'us-east-1' is wrong; expecting 'eu-west-1'"),
    ],
)
def test_a_bucket_of_another_region_is_said(status: int, code: str, words: str, address: str) -> None:
    with PretendingServer("keeps") as server:
        server.fault = lambda method, key: Fault(status, code, words) if method == "GET" else None
        with pytest.raises(Unavailable) as told:
            open_files(address, server.options()).read("t/a")
    assert told.value.message == f"{address} can't be used: {words}"
    assert about("region", "bucket", "--option s3.region").search(told.value.hint)


def test_a_word_that_s3_does_not_have_is_told_without_what_the_client_says_before(address: str) -> None:
    with PretendingServer("keeps") as server:
        server.fault = lambda method, key: FULL if method == "GET" else None
        with pytest.raises(Unavailable) as told:
            open_files(address, server.options()).read("t/a")
    assert told.value.message == f"{address} can't be used: {FULL.message.rstrip('.')}"
    assert about("store", "full", "space").search(told.value.hint)


def test_a_profile_that_is_not_there_is_named(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    with pytest.raises(Unavailable, match=r"profile .nowhere. could not be found") as caught:
        open_files(address, {"s3.endpoint": s3.endpoint}).read("t/a")
    assert "AWS_PROFILE" in caught.value.hint


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("S3://lake/warehouse/", "s3://lake/warehouse"),
        ("memory://key:hush@lake/warehouse", "memory://lake/warehouse"),
        ("s3a://lake/a b#c/d?e", "s3a://lake/a b#c/d?e"),
        ("memory://owner@lake/warehouse", "memory://owner@lake/warehouse"),
    ],
)
def test_an_address_is_shown_as_written_without_its_credentials(address: str, shown: str) -> None:
    assert open_files(address).uri == shown


@pytest.mark.parametrize("scheme", ["s3", "S3A", "gs", "abfs", "oss", "hdfs", "zip://x::s3"])
def test_an_address_whose_password_nobody_would_use_is_refused(scheme: str) -> None:
    with pytest.raises(UsageError, match=about("://", "password", "token")) as refused:
        open_files(f"{scheme}://key:hush@lake/warehouse")
    assert "hush" not in refused.value.message
    assert "--option" in refused.value.hint


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("s3.endpoint", "http://[", "Invalid IPv6"),
        ("s3.region", "no region!", "region"),
    ],
)
def test_a_client_that_cannot_be_made_is_said_where_conditions_are_asked_for(
    option: str, value: str, told: str
) -> None:
    """Before the first request, as `doctor` does and every change."""
    files = open_files(f"s3://{BUCKET}/warehouse", {option: value})
    with pytest.raises(Unavailable, match=told) as failed:
        require_conditions(files)
    assert "hush" not in failed.value.message


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("foo://bucket/x", ("s3://", "hdfs://", "gs://", "abfs://")),
        ("s3://", ("s3://bucket/path",)),
        ("s3:///", ("s3://bucket/path",)),
        ("s3:///warehouse", ("s3://bucket/path",)),
        ("hdfs://", ("hdfs://namenode:8020/path", "hdfs://SERVICE/path")),
    ],
)
def test_an_address_that_names_no_store_is_a_usage_error(uri: str, hint: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as told:
        open_files(uri)
    assert about(*hint).search(told.value.hint)


def test_an_object_larger_than_metadata_can_be_is_damaged_and_never_read(
    s3: S3Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.core.storage.files.MOST_BYTES", 1000)
    files = open_s3(s3, address)
    files.replace("t/small", bytes(1000))
    files.replace("t/large", bytes(1001))
    with pytest.raises(Corrupt, match=about("t/large", "1001 bytes", "large")):
        files.read("t/large")
    assert list(files.read_many(["t/large", "t/small"])) == [b"", bytes(1000)]
