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
from paimark.core.spark.results.outlet import DIGEST_BYTES, END, HEAD, NONCE_BYTES, TASK, Outlet, digest

ANY = ResultPort(LOOPBACK, LOOPBACK, range(1))
OWN = b"n" * NONCE_BYTES


@pytest.fixture
def outlet(tmp_path: Path) -> Iterator[Outlet]:
    outlet = Outlet(ANY, tmp_path)
    yield outlet
    outlet.close()


def greeting(secret: bytes, nonce: bytes, own: bytes, partition: int, attempt: int) -> bytes:
    """A task's answer to a nonce, as Java gives it."""
    task = TASK.pack(partition, attempt)
    return b"".join((own, task, digest(secret, nonce, own, task)))


def connect(outlet: Outlet, partition: int, attempt: int = 0, secret: bytes | None = None) -> socket.socket:
    channel = socket.create_connection(outlet.address)
    asked = receive_exactly(channel, NONCE_BYTES)
    assert asked is not None
    channel.sendall(greeting(secret or outlet.secret, bytes(asked), OWN, partition, attempt))
    return channel


def is_known(outlet: Outlet, channel: socket.socket) -> bool:
    said = receive_exactly(channel, DIGEST_BYTES)
    assert said in (None, digest(outlet.secret, OWN))
    return said is not None


def hand_in(outlet: Outlet, partition: int, *batches: bytes, whole: bool = True, attempt: int = 0) -> None:
    with connect(outlet, partition, attempt) as channel:
        assert is_known(outlet, channel)
        for data in batches:
            channel.sendall(HEAD.pack(len(data), 1) + data)
        if whole:
            channel.sendall(END)


def test_partitions_come_out_in_order(outlet: Outlet) -> None:
    hand_in(outlet, 1, b"c")
    hand_in(outlet, 2)
    hand_in(outlet, 0, b"a", b"b")
    outlet.job_ended(None, 3)
    assert [data for data, _ in outlet.rows()] == [b"a", b"b", b"c"]


def test_a_later_partition_in_the_way_is_put_aside(outlet: Outlet) -> None:
    """One core: partition 1 has it, is larger than what a socket holds, and 0 starts when 1 has ended."""
    large = b"x" * (8 << 20)

    def one_core() -> None:
        hand_in(outlet, 1, large, large)
        hand_in(outlet, 0, b"first")
        outlet.job_ended(None, 2)

    worker = threading.Thread(target=one_core)
    worker.start()
    found = [data for data, _ in outlet.rows()]
    worker.join()
    assert found == [b"first", large, large]


def test_a_task_that_dies_midway_is_not_a_short_result(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a", whole=False)
    outlet.job_ended(RuntimeError("task lost"))
    rows = outlet.rows()
    # The job's failure may come out before the rows that it makes worthless.
    with pytest.raises(RuntimeError, match="task lost"):
        list(rows)


def test_a_task_tried_again_goes_on_where_the_first_one_died(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a", b"b", whole=False)
    rows = outlet.rows()
    assert next(rows) == (b"a", 1)
    hand_in(outlet, 0, b"a", b"b", b"c", attempt=7)
    hand_in(outlet, 1, b"d")
    outlet.job_ended(None, 2)
    assert [data for data, _ in rows] == [b"b", b"c", b"d"]


def test_other_rows_after_some_were_handed_on_fail_the_statement(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a", whole=False)
    rows = outlet.rows()
    assert next(rows) == (b"a", 1)
    hand_in(outlet, 0, b"A", attempt=7)
    outlet.job_ended(None, 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_fewer_rows_after_some_were_handed_on_fail_the_statement(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a", whole=False)
    rows = outlet.rows()
    assert next(rows) == (b"a", 1)
    hand_in(outlet, 0, attempt=7)
    outlet.job_ended(None, 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_of_two_attempts_the_later_counts(outlet: Outlet) -> None:
    """The first one's machine is gone without a word: its connection would be read for ever."""
    with connect(outlet, 0, attempt=3) as silent:
        assert is_known(outlet, silent)
        silent.sendall(HEAD.pack(1, 1) + b"a")
        rows = outlet.rows()
        assert next(rows) == (b"a", 1)
        hand_in(outlet, 0, b"a", b"b", attempt=5)
        with connect(outlet, 0, attempt=4) as earlier:
            assert not is_known(outlet, earlier)
        outlet.job_ended(None, 1)
        assert list(rows) == [(b"b", 1)]


def test_rows_that_never_came_are_not_a_short_result(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a")
    outlet.job_ended(None, 2)
    rows = outlet.rows()
    assert next(rows) == (b"a", 1)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_only_who_knows_the_secret_is_heard_and_it_never_travels(outlet: Outlet) -> None:
    with connect(outlet, 0, secret=bytes(32)) as stranger:
        assert not is_known(outlet, stranger)
    asked = b"x" * NONCE_BYTES
    assert outlet.secret not in greeting(outlet.secret, asked, OWN, 0, 0) + digest(outlet.secret, OWN)
    hand_in(outlet, 0, b"a")
    outlet.job_ended(None, 1)
    assert list(outlet.rows()) == [(b"a", 1)]


def test_a_greeting_that_was_overheard_is_of_no_use(outlet: Outlet) -> None:
    channel = socket.create_connection(outlet.address)
    asked = receive_exactly(channel, NONCE_BYTES)
    channel.close()
    assert asked is not None
    with socket.create_connection(outlet.address) as again:
        receive_exactly(again, NONCE_BYTES)
        again.sendall(greeting(outlet.secret, bytes(asked), OWN, 0, 0))
        assert not is_known(outlet, again)


def test_the_first_free_port_of_a_range(tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        taken = server.getsockname()[1]
        outlet = Outlet(ResultPort(LOOPBACK, "driver.example", range(taken, taken + 9)), tmp_path)
        outlet.close()
        assert outlet.address[0] == "driver.example" and taken < outlet.address[1] < taken + 9
        with pytest.raises(Unavailable, match=f"Port {taken} of 127.0.0.1 is not to be had"):
            Outlet(ResultPort(LOOPBACK, LOOPBACK, range(taken, taken + 1)), tmp_path)
    with pytest.raises(Unavailable, match=r"taken in at 192\.0\.2\.1"):
        Outlet(ResultPort("192.0.2.1", LOOPBACK, range(1)), tmp_path)
