"""Frames between the console and the engine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from paimark.core.errors import Cancelled, PaimarkError, StatementFailed, Unavailable
from paimark.core.spark.protocol import (
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
from paimark.core.table.commits import Overwritten

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


@pytest.mark.parametrize(
    "error",
    [
        StatementFailed("no such column", "Write another.", 7),
        Unavailable("The store does not answer", "Try again."),
        Cancelled("The statement was cancelled"),
        Overwritten("Snapshot 3 was overwritten", "Look at the rows."),
    ],
)
def test_an_error_is_the_same_on_the_other_side(pair: Pair, error: PaimarkError) -> None:
    ours, theirs = pair
    send(ours, Failed.of(error))
    told = receive_report(theirs)
    assert isinstance(told, Failed)
    made = told.error()
    assert (type(made), vars(made)) == (type(error), vars(error))


def test_batches_are_bytes_among_messages(pair: Pair) -> None:
    ours, theirs = pair
    reports: list[Report | Batch] = [
        Reading("shop.orders", "snapshot.1", "paimon library"),
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
