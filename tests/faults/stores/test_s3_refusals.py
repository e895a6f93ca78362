"""Errors of an S3 that refuses all requests, and answers that come late, broken or not at all."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from paimark.core.errors import Unavailable
from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files, require_conditions
from tests.storage.pretending import DENIED, EXPIRED, FULL, LOST, Fault, PretendingServer
from tests.storage.stores import BUCKET
from tests.wording import about

CALLS: dict[str, Callable[[Files], object]] = {
    "list": lambda files: files.names("t"),
    "read": lambda files: files.read("t/a"),
    "look": lambda files: files.exists("t/a"),
    "create": lambda files: files.create("t/new", b"x"),
    "replace": lambda files: files.replace("t/a", b"x"),
    "delete": lambda files: files.delete("t/a"),
}


@pytest.fixture(scope="module")
def opened(server: PretendingServer) -> Files:
    files = open_files(f"s3://{BUCKET}/lake", server.options())
    require_conditions(files)
    return files


@pytest.fixture
def files(server: PretendingServer, opened: Files) -> Files:
    server.objects = {"lake/t/a": b"there"}
    server.marks = {}
    server.clock_ahead = timedelta()
    server.fault = lambda method, key: None
    return opened


@pytest.mark.parametrize("call", CALLS)
def test_an_expired_token_is_named_and_what_to_do(call: str, files: Files, server: PretendingServer) -> None:
    """Also for the answer to a HEAD request, which has no error text."""
    server.fault = lambda method, key: EXPIRED
    with pytest.raises(Unavailable, match=about("the provided token has expired")) as told:
        CALLS[call](files)
    assert about("sign in", "s3.session-token").search(told.value.hint)
    assert told.value.exit_code == 3


@pytest.mark.parametrize(("minutes", "way"), [(20, "behind"), (-20, "ahead of")])
@pytest.mark.parametrize("call", ["list", "look"])
def test_a_clock_that_is_off_is_named_with_how_far(
    call: str, minutes: int, way: str, files: Files, server: PretendingServer
) -> None:
    server.clock_ahead = timedelta(minutes=minutes)
    off = rf"(?i)clock\b.* (19 min 5\d s|20 min|20 min \d s) {way}\b.*store"
    with pytest.raises(Unavailable, match=off) as told:
        CALLS[call](files)
    assert about("set", "clock").search(told.value.hint)


@pytest.mark.parametrize("minutes", [10, -10])
def test_a_clock_that_is_off_by_less_is_nobodys_business(
    minutes: int, files: Files, server: PretendingServer
) -> None:
    server.clock_ahead = timedelta(minutes=minutes)
    assert files.create("t/new", b"x") and files.read("t/new") == b"x"


@pytest.mark.parametrize(
    ("fault", "said", "hint"),
    [
        (FULL, "free drive threshold", about("store", "full")),
        (DENIED, "Access Denied", about("check", "credentials")),
    ],
)
def test_why_nothing_is_written_is_named(
    fault: Fault, said: str, hint: re.Pattern[str], files: Files, server: PretendingServer
) -> None:
    server.fault = lambda method, key: fault
    with pytest.raises(Unavailable, match=said) as told:
        files.create("t/new", b"x")
    assert hint.search(told.value.hint)
    assert set(server.objects) == {"lake/t/a"}


def test_an_answer_that_begins_late_is_waited_for(files: Files, server: PretendingServer) -> None:
    server.fault = lambda method, key: Fault(seconds=0.4)
    began = time.monotonic()
    assert files.create("t/new", b"x") and files.read("t/new") == b"x"
    assert time.monotonic() - began >= 0.8


def test_bodies_that_break_off_are_read_again(files: Files, server: PretendingServer) -> None:
    server.objects["lake/t/a"] = data = bytes(50_000)
    count = 0

    def spoil(method: str, key: str) -> Fault | None:
        nonlocal count
        count += 1
        return Fault(half=True) if count == 1 else LOST if count == 2 else None

    server.fault = spoil
    assert files.read("t/a") == data
    assert count == 3


@pytest.mark.parametrize("theirs", [False, True])
def test_whose_file_it_is_that_an_answer_was_lost_for(
    theirs: bool, files: Files, server: PretendingServer
) -> None:
    """The retry is refused because the file exists: the first request made it, or another client."""
    answers = 0

    def lose_one(method: str, key: str) -> Fault | None:
        nonlocal answers
        answers += method == "PUT"
        if answers != 1:
            return None
        if theirs:
            server.objects[key], server.marks[key] = b"theirs", "another"
            return Fault()
        return LOST

    server.fault = lose_one
    assert files.create("t/new", b"ours") is not theirs
    assert files.read("t/new") == (b"theirs" if theirs else b"ours")
