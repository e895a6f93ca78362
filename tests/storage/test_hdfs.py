"""HDFS on a real NameNode: what a writer that dies leaves, and who wins."""

from __future__ import annotations

import itertools
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from paimark.core.errors import Unavailable, UsageError
from paimark.core.storage.open import open_files
from paimark.core.storage.remote_errors import unavailable
from tests.storage.hadoop.namenode_proxy import namenode_proxy
from tests.wording import about

POINTER = "shop.db/orders/branch/MAIN-BRANCH"
# Dies right before the request of this number that changes anything.
WRITER = """
import os, sys
import hdfs_native
from paimark.core.storage.open import open_files
from tests.storage.hadoop.namenode_proxy import namenode_proxy
address, verb, path, text, number = sys.argv[1:]
left = [int(number)]
def dying(kind, name):
    real = getattr(kind, name)
    def call(*arguments, **named):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return real(*arguments, **named)
    setattr(kind, name, call)
for name in ("create", "rename", "delete", "mkdirs", "append"):
    dying(hdfs_native.Client, name)
# A writer is closed once more when it is collected, which asks for nothing.
for name in ("write", "__exit__"):
    dying(hdfs_native.FileWriter, name)
getattr(open_files(address), verb)(path, text.encode())
"""


@pytest.fixture
def address(hdfs: str) -> str:
    return f"{hdfs}/{uuid.uuid4().hex}"


def dies(address: str, verb: str, path: str, text: str, before: int) -> bool:
    """Whether the writer died before that request, or had ended by then."""
    command = [sys.executable, "-c", WRITER, address, verb, path, text, str(before)]
    return subprocess.run(command).returncode == 9


def test_a_writer_that_dies_while_it_replaces_leaves_the_old_bytes_or_the_new(address: str) -> None:
    files = open_files(address)
    files.replace(POINTER, b"old")
    requests = itertools.takewhile(
        lambda number: dies(address, "replace", POINTER, f"new{number}", number), itertools.count(1)
    )
    for number in requests:
        assert files.read(POINTER) in {b"old", f"new{number}".encode()}
        files.replace(POINTER, b"old")
    # It ended only when none was left: create, write, close, rename.
    assert files.read(POINTER) == b"new5"


def test_a_writer_that_dies_while_it_creates_leaves_the_whole_file_or_none(address: str) -> None:
    files = open_files(address)
    for number in itertools.count(1):
        path = f"shop.db/orders/savepoint/CLAIM-{number}"
        died = dies(address, "create", path, "whole", number)
        assert list(files.read_many([path])) in ([None], [b"whole"])
        # Whoever comes next can have what nobody has.
        assert files.create(path, b"mine") == (files.read(path) == b"mine")
        if not died:
            break
    assert number == 5


def test_a_reader_sees_the_old_or_the_new_bytes_while_a_file_is_replaced(address: str) -> None:
    files, reader, over = open_files(address), open_files(address), Event()
    files.replace(POINTER, b"0" * 1000)

    def read() -> int:
        seen = 0
        while not over.is_set():
            data = reader.read(POINTER)
            assert data == data[:1] * 1000
            assert reader.exists(POINTER)
            seen += 1
        return seen

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(read)
        try:
            for number in range(60):
                files.replace(POINTER, str(number % 10).encode() * 1000)
        finally:
            over.set()
        assert reading.result() > 0
    assert files.names("shop.db/orders/branch") == ["MAIN-BRANCH"]


def test_an_error_of_the_namenode_is_one_sentence(address: str) -> None:
    with pytest.raises(Unavailable, match=r"can't be used: The maximum path component name limit") as caught:
        open_files(address).create("x" * 300, b"")
    assert "org.apache" not in caught.value.message


@pytest.mark.parametrize("place", ["127.0.0.1:1", "no-such-host.invalid"])
def test_a_namenode_that_is_not_there_is_given_up(place: str) -> None:
    with pytest.raises(Unavailable, match=rf"^hdfs://{place}/warehouse can't be used") as caught:
        open_files(f"hdfs://{place}/warehouse").entries("")
    assert "s3" not in caught.value.hint


def test_a_configuration_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the option it is a wrong word; the variable may be meant for other programs."""
    nowhere = tmp_path / "conf"
    with pytest.raises(UsageError, match=f"hdfs.conf-dir={nowhere} is no directory"):
        open_files("hdfs://no-such-host.invalid/warehouse", {"hdfs.conf-dir": str(nowhere)})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(nowhere))
    with pytest.raises(Unavailable) as caught:
        open_files("hdfs://no-such-host.invalid/warehouse").entries("")
    assert caught.value.hint.endswith(f"HADOOP_CONF_DIR={nowhere} is no directory.")
    assert "[Errno" not in caught.value.message


def test_what_the_library_prints_of_itself_is_left_out() -> None:
    inside = 'DatanodeInfoProto { id: DatanodeIdProto { ip_addr: "127.0.0.1", xfer_port: 9866 } }'
    told = unavailable("hdfs://lake/w", RuntimeError(f"All DataNodes failed: [{inside}]"))
    assert told.message == "hdfs://lake/w can't be used: All DataNodes failed"
    assert about("DataNode", "HADOOP_CONF_DIR").search(told.hint)


@pytest.mark.parametrize("uri", ["hdfs:///warehouse", "hdfs://a b/warehouse", "hdfs://"])
def test_an_address_that_names_no_namenode_is_a_usage_error(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(UsageError) as told:
        open_files(uri)
    # As the client prints its errors.
    assert '("' not in told.value.message


@pytest.mark.parametrize("call", ["create", "complete", "rename2", "delete"])
@pytest.mark.parametrize("verb", ["create", "replace"])
def test_whose_file_it_is_when_an_answer_is_lost(verb: str, call: str, hdfs: str) -> None:
    """The NameNode has acted: a call that is sent again meets its own doing, and not another's."""
    place = uuid.uuid4().hex
    there = open_files(f"{hdfs}/{place}")
    with namenode_proxy(hdfs) as proxy:
        files = open_files(f"hdfs://127.0.0.1:{proxy.port}/{place}")
        assert files.names("t") == []
        proxy.loses = [call]
        assert getattr(files, verb)("t/a", b"ours") in (True, None)
        assert there.read("t/a") == b"ours" and there.names("t") == ["a"]
        files.delete("t/a")
        assert proxy.lost == [call]
    assert there.names("t") == []


def test_another_wins_though_an_answer_is_lost(hdfs: str) -> None:
    place = uuid.uuid4().hex
    there = open_files(f"{hdfs}/{place}")
    assert there.create("t/a", b"theirs")
    with namenode_proxy(hdfs) as proxy:
        proxy.loses = ["create", "rename2"]
        assert not open_files(f"hdfs://127.0.0.1:{proxy.port}/{place}").create("t/a", b"ours")
        assert proxy.lost == ["create", "rename2"]
    assert there.read("t/a") == b"theirs" and there.names("t") == ["a"]


@pytest.mark.long
def test_a_file_is_whole_as_soon_as_it_is_there(hdfs: str) -> None:
    """The NameNode counts the bytes of its last block when a DataNode has reported it: some time later."""

    warehouse = open_files(f"{hdfs}/{uuid.uuid4().hex}")

    def write_and_read(number: int) -> bytes:
        name = f"t/{number // 50}/n-{number}"
        warehouse.create(name, b"written")
        return warehouse.read(name)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(write_and_read, range(2000))) == {b"written"}
