"""Frames between the console and the engine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from core.spark.protocol import (
    Batch,
    Cancel,
    Close,
    Failed,
    Finished,
    Order,
    Reading,
    Report,
    Run,
    StageProgress,
    Start,
    receive_order,
    receive_report,
    send,
)

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair()
    with left, right:
        yield left, right


def test_orders_arrive_as_they_were_sent(pair: Pair) -> None:
    ours, theirs = pair
    orders: list[Order] = [
        Start("w", {"s3.secret-key": "x"}, None, {}, "/scratch", True),
        Run(3, "SELECT '\x00\u202e'", limit=5),
        Cancel(3),
        Close(),
    ]
    for order in orders:
        send(ours, order)
    assert [receive_order(theirs) for _ in orders] == orders


def test_batches_are_bytes_among_messages(pair: Pair) -> None:
    ours, theirs = pair
    reports: list[Report | Batch] = [
        Reading("shop.orders", "snapshot.1", "python source"),
        Batch(bytes(range(256)) * 40_000),
        Batch(b""),
        StageProgress(1, 2, "stage 1 of 1"),
        Failed("no", position=0, cause="cancelled"),
        Finished(1, False, 0.5),
    ]

    def send_all() -> None:
        for report in reports:
            send(ours, report)

    # In a thread: the frames are more than a socket holds.
    sender = threading.Thread(target=send_all)
    sender.start()
    assert [receive_report(theirs) for _ in reports] == reports
    sender.join()


@pytest.mark.parametrize("sent", [b"", b"\x05", b"\x05\x00\x00\x00\x00ab"])
def test_a_side_that_ends_midway_is_gone(pair: Pair, sent: bytes) -> None:
    ours, theirs = pair
    ours.sendall(sent)
    ours.close()
    assert receive_report(theirs) is None
