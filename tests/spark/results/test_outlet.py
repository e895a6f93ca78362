"""Rows handed in by tasks come out in order of partitions, whoever comes first."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import StatementFailed
from core.spark.results.outlet import Outlet
from core.spark.results.sender import END, HEAD, KNOWN, PARTITION


@pytest.fixture
def outlet(tmp_path: Path) -> Iterator[Outlet]:
    outlet = Outlet("127.0.0.1", tmp_path)
    yield outlet
    outlet.close()


def connect(outlet: Outlet, partition: int, token: bytes | None = None) -> socket.socket:
    channel = socket.create_connection(outlet.address)
    channel.sendall((outlet.token if token is None else token) + PARTITION.pack(partition))
    return channel


def hand_in(outlet: Outlet, partition: int, *batches: bytes, whole: bool = True) -> None:
    with connect(outlet, partition) as channel:
        assert channel.recv(1) == KNOWN
        for data in batches:
            channel.sendall(HEAD.pack(len(data), 1) + data)
        if whole:
            channel.sendall(END)


def test_partitions_come_out_in_order(outlet: Outlet) -> None:
    hand_in(outlet, 1, b"c")
    hand_in(outlet, 2)
    hand_in(outlet, 0, b"a", b"b")
    outlet.job_ended(None)
    assert [data for data, _ in outlet.rows()] == [b"a", b"b", b"c"]


def test_a_later_partition_in_the_way_is_put_aside(outlet: Outlet) -> None:
    """One core: partition 1 has it, is larger than what a socket holds, and 0 starts when 1 has ended."""
    large = b"x" * (8 << 20)

    def one_core() -> None:
        hand_in(outlet, 1, large, large)
        hand_in(outlet, 0, b"first")
        outlet.job_ended(None)

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


def test_a_task_tried_again_after_rows_were_taken_fails_the_statement(outlet: Outlet) -> None:
    hand_in(outlet, 0, b"a", whole=False)
    rows = outlet.rows()
    assert next(rows) == (b"a", 1)
    with connect(outlet, 0) as again:
        assert again.recv(1) == b""
    outlet.job_ended(None)
    with pytest.raises(StatementFailed, match="lost"):
        next(rows)


def test_only_who_knows_the_token_is_heard(outlet: Outlet) -> None:
    with connect(outlet, 0, token=bytes(32)) as stranger:
        assert stranger.recv(1) == b""
    hand_in(outlet, 0, b"a")
    outlet.job_ended(None)
    assert list(outlet.rows()) == [(b"a", 1)]
