"""Rows handed in by tasks come out in order of partitions, whoever comes first."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.errors import StatementFailed, Unavailable
from paimark.core.spark.launch.settings import LOOPBACK, ResultPort
from paimark.core.spark.protocol import receive_exactly
from paimark.core.spark.results.row_server import (
    DIGEST_BYTES,
    END,
    HEAD,
    NONCE_BYTES,
    TASK,
    RowServer,
    digest,
)
from tests.wording import about

ANY = ResultPort(LOOPBACK, LOOPBACK, range(1))
OWN = b"n" * NONCE_BYTES


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RowServer]:
    server = RowServer(ANY, tmp_path)
    yield server
    server.close()


def greeting(secret: bytes, nonce: bytes, own: bytes, partition: int, attempt: int) -> bytes:
    """A task's answer to a nonce, as Java gives it."""
    task = TASK.pack(partition, attempt)
    return b"".join((own, task, digest(secret, nonce, own, task)))


def connect(
    server: RowServer, partition: int, attempt: int = 0, secret: bytes | None = None
) -> socket.socket:
    channel = socket.create_connection(server.address)
    asked = receive_exactly(channel, NONCE_BYTES)
    assert asked is not None
    channel.sendall(greeting(secret or server.secret, bytes(asked), OWN, partition, attempt))
    return channel


def is_known(server: RowServer, channel: socket.socket) -> bool:
    said = receive_exactly(channel, DIGEST_BYTES)
    assert said in (None, digest(server.secret, OWN))
    return said is not None


def hand_in(server: RowServer, partition: int, *batches: bytes, whole: bool = True, attempt: int = 0) -> None:
    with connect(server, partition, attempt) as channel:
        assert is_known(server, channel)
        for data in batches:
            channel.sendall(HEAD.pack(len(data), 1) + data)
        if whole:
            channel.sendall(END)


def test_partitions_come_out_in_order(server: RowServer) -> None:
    hand_in(server, 1, b"c")
    hand_in(server, 2)
    hand_in(server, 0, b"a", b"b")
    server.job_ended(None, 3)
    assert [data for data, _ in server.rows()] == [b"a", b"b", b"c"]


def test_a_later_partition_in_the_way_is_put_aside(server: RowServer) -> None:
    """One core: partition 1 has it, is larger than what a socket holds, and 0 starts when 1 has ended."""
    large = b"x" * (8 << 20)

    def one_core() -> None:
        hand_in(server, 1, large, large)
        hand_in(server, 0, b"first")
        server.job_ended(None, 2)

    worker = threading.Thread(target=one_core)
    worker.start()
    found = [data for data, _ in server.rows()]
    worker.join()
    assert found == [b"first", large, large]


def test_a_task_that_dies_midway_is_not_a_short_result(server: RowServer) -> None:
    hand_in(server, 0, b"a", whole=False)
    server.job_ended(RuntimeError("task lost"))
    rows = server.rows()
    # The job's failure may come out before the rows that it makes worthless.
    with pytest.raises(RuntimeError, match="task lost"):
        list(rows)


def test_a_task_tried_again_goes_on_where_the_first_one_died(server: RowServer) -> None:
    hand_in(server, 0, b"a", b"b", whole=False)
    rows = server.rows()
    assert next(rows) == (b"a", 1)
    hand_in(server, 0, b"a", b"b", b"c", attempt=7)
    hand_in(server, 1, b"d")
    server.job_ended(None, 2)
    assert [data for data, _ in rows] == [b"b", b"c", b"d"]


def test_other_rows_after_some_were_handed_on_fail_the_statement(server: RowServer) -> None:
    hand_in(server, 0, b"a", whole=False)
    rows = server.rows()
    assert next(rows) == (b"a", 1)
    hand_in(server, 0, b"A", attempt=7)
    server.job_ended(None, 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_fewer_rows_after_some_were_handed_on_fail_the_statement(server: RowServer) -> None:
    hand_in(server, 0, b"a", whole=False)
    rows = server.rows()
    assert next(rows) == (b"a", 1)
    hand_in(server, 0, attempt=7)
    server.job_ended(None, 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_of_two_attempts_the_later_counts(server: RowServer) -> None:
    """The first one's machine is gone without a word: its connection would be read for ever."""
    with connect(server, 0, attempt=3) as silent:
        assert is_known(server, silent)
        silent.sendall(HEAD.pack(1, 1) + b"a")
        rows = server.rows()
        assert next(rows) == (b"a", 1)
        hand_in(server, 0, b"a", b"b", attempt=5)
        with connect(server, 0, attempt=4) as earlier:
            assert not is_known(server, earlier)
        server.job_ended(None, 1)
        assert list(rows) == [(b"b", 1)]


def test_rows_that_never_came_are_not_a_short_result(server: RowServer) -> None:
    hand_in(server, 0, b"a")
    server.job_ended(None, 2)
    rows = server.rows()
    assert next(rows) == (b"a", 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_only_who_knows_the_secret_is_heard_and_it_never_travels(server: RowServer) -> None:
    with connect(server, 0, secret=bytes(32)) as stranger:
        assert not is_known(server, stranger)
    asked = b"x" * NONCE_BYTES
    assert server.secret not in greeting(server.secret, asked, OWN, 0, 0) + digest(server.secret, OWN)
    hand_in(server, 0, b"a")
    server.job_ended(None, 1)
    assert list(server.rows()) == [(b"a", 1)]


def test_a_greeting_that_was_overheard_is_of_no_use(server: RowServer) -> None:
    channel = socket.create_connection(server.address)
    asked = receive_exactly(channel, NONCE_BYTES)
    channel.close()
    assert asked is not None
    with socket.create_connection(server.address) as again:
        receive_exactly(again, NONCE_BYTES)
        again.sendall(greeting(server.secret, bytes(asked), OWN, 0, 0))
        assert not is_known(server, again)


def test_the_first_free_port_of_a_range(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        taken = other.getsockname()[1]
        server = RowServer(ResultPort(LOOPBACK, "driver.example", range(taken, taken + 9)), tmp_path)
        server.close()
        assert server.address[0] == "driver.example" and taken < server.address[1] < taken + 9
        with pytest.raises(Unavailable, match=about(f"port {taken}", "127.0.0.1")):
            RowServer(ResultPort(LOOPBACK, LOOPBACK, range(taken, taken + 1)), tmp_path)
    with pytest.raises(Unavailable, match=about("192.0.2.1")):
        RowServer(ResultPort("192.0.2.1", LOOPBACK, range(1)), tmp_path)
