"""pypaimon-rust on S3: told who reads and where, and with the rows of stock Paimon."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from paimark.core.spark.datasource.paimon import plan_splits
from paimark.core.spark.datasource.rust.stores import store_access
from paimark.core.storage.open import open_files, options_for_others
from tests.interop.judge import Judge
from tests.spark.datasource.rust.on_stores import PARTS, keyed_table, require_alike, scan_in, upload
from tests.storage.local_http import Handler, LocalServer
from tests.storage.stores import BUCKET, S3Server

KEYS = {"s3.access-key": "a", "s3.secret-key": "b"}
AT_HOME = {"s3.endpoint": "http://h"}
TOLD = {**KEYS, "s3.endpoint": "http://h", "s3.region": "us-east-1", "s3.path-style-access": "true"}
VIRTUAL = {**TOLD, "s3.path-style-access": "false"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (KEYS | AT_HOME, TOLD),
        (KEYS | AT_HOME | {"fs.oss.endpoint": "e"}, TOLD),
        (KEYS | {"fs.s3a.endpoint": "h"}, TOLD | {"s3.endpoint": "https://h"}),
        (KEYS | {"s3.endpoint": "h", "s3.connection.ssl.enabled": "false"}, TOLD),
        (KEYS | AT_HOME | {"s3.path.style.access": "false"}, VIRTUAL),
        (
            {"fs.s3.accessKeyId": "a", "fs.s3.accessKeySecret": "b", "fs.s3.securityToken": "t"} | AT_HOME,
            TOLD | {"s3.session.token": "t"},
        ),
        (
            KEYS | {"s3.region": "eu-west-1"},
            VIRTUAL | {"s3.region": "eu-west-1", "s3.endpoint": "https://s3.eu-west-1.amazonaws.com"},
        ),
    ],
)
def test_it_is_told_who_reads_and_where(options: dict[str, str], told: dict[str, str]) -> None:
    access = store_access("s3://lake/w", options)
    assert (access.why_python, access.options) == ("", told)
    assert repr(access) == "StoreAccess(why_python='')"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (AT_HOME, "it needs s3.access-key as an option, in the environment or in a profile"),
        (
            AT_HOME | {"s3.access-key": "a", "s3.secret-key": ""},
            "it needs s3.secret-key as an option, in the environment or in a profile",
        ),
        (KEYS | AT_HOME | {"s3.connection-timeout": "5000"}, "it takes no s3.connection-timeout"),
        (KEYS, "it does not know the host of Amazon's region"),
        (KEYS | {"s3.region": "cn-north-1"}, "it does not know the host of Amazon's region cn-north-1"),
    ],
)
def test_python_reads_what_it_can_not_be_told(options: dict[str, str], reason: str) -> None:
    assert store_access("s3://lake/w", options).why_python == reason
    assert store_access("/lake/w", options).why_python == ""
    assert store_access("gs://lake/w", options).why_python == "it is not tried on gs"


@pytest.mark.usefixtures("by_rust")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_its_rows_are_stock_paimons(
    scheme: str, s3: S3Server, tmp_path: Path, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    keyed_table(tmp_path)
    require_alike(tmp_path, f"{scheme}://{BUCKET}/{uuid.uuid4().hex}", s3.options(), judge, caplog)


class HostsOfBuckets(LocalServer):
    """A proxy on whose far side each bucket is a host. `seen` are the headers of requests."""

    def __init__(self, server: S3Server) -> None:
        target, seen = server.endpoint.removeprefix("http://"), list[dict[str, str]]()
        self.seen = seen

        class Proxy(Handler):
            def handle_request(self) -> None:
                body, headers = self.body(), dict(self.headers.items())
                seen.append({name.lower(): value for name, value in headers.items()})
                asked = urlsplit(self.path)
                bucket = asked.netloc.partition(".")[0]
                self.path = f"/{bucket}{asked.path}" + (f"?{asked.query}" if asked.query else "")
                # The server has names of its own for such hosts.
                headers = {name: value for name, value in headers.items() if name.lower() != "host"}
                self.pass_on(self.forwarded(target, body, headers))

        super().__init__(Proxy)


@pytest.fixture
def hosts(s3: S3Server) -> Iterator[HostsOfBuckets]:
    with HostsOfBuckets(s3) as server:
        yield server


@pytest.mark.usefixtures("by_rust")
def test_hosts_of_buckets_tokens_and_keys_of_the_environment(
    s3: S3Server, hosts: HostsOfBuckets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyed_table(tmp_path)
    uri = f"s3://{BUCKET}/{uuid.uuid4().hex}"
    upload(tmp_path, uri, s3.options())
    there = scan_in(uri, s3.options())
    splits = plan_splits(there, ())
    place = {"s3.endpoint": "http://s3.test", "s3.path.style.access": "false", "s3.region": "eu-test-1"}
    told = {"s3.access-key": "told", "s3.secret-key": "x", "s3.session-token": "of-options"}
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
        monkeypatch.setenv(f"AWS_{name}", f"found-{name}")
    found = options_for_others(open_files(uri, place), place)
    tasks = [(replace(there, options=options), splits) for options in (place | told, found)]
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name.lower() != "no_proxy" and not name.startswith("AWS_")
        },
        "http_proxy": hosts.endpoint,
    }
    child = [sys.executable, "-m", "tests.spark.datasource.rust.reading_child"]
    done = subprocess.run(
        child, input=pickle.dumps(tasks), env=environment, capture_output=True, check=False, timeout=120
    )
    assert not done.returncode, done.stderr.decode()
    rows = 6 * len(PARTS)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [["by pypaimon-rust", rows]] * 2, done.stderr.decode()
    # It has not left them to Python.
    assert b"leaves a split" not in done.stderr
    assert {headers["host"] for headers in hosts.seen} == {f"{BUCKET}.s3.test"}
    who = {
        (
            headers["authorization"].partition("Credential=")[2].partition("/")[0],
            headers["x-amz-security-token"],
        )
        for headers in hosts.seen
    }
    assert who == {("told", "of-options"), ("found-ACCESS_KEY_ID", "found-SESSION_TOKEN")}
    assert all("/eu-test-1/s3/" in headers["authorization"] for headers in hosts.seen)
