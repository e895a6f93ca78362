"""Writes to S3 of which nobody knows whether they were done: told apart from those that were refused."""

from __future__ import annotations

import http.client
import os
import signal
import time
import uuid
from collections.abc import Iterator

import pytest

from paimark.core.errors import Unavailable
from paimark.core.storage.files import Denied, Files, Unanswered
from paimark.core.storage.open import open_files
from tests.storage.local_http import Answer, Handler, LocalServer, s3_options
from tests.storage.pretending import DENIED, Fault, PretendingServer
from tests.storage.stores import BUCKET, Proxy, S3Server
from tests.wording import about

_ERROR = "<?xml version='1.0'?><Error><Code>{0}</Code><Message>No</Message></Error>"
_LATE_SECONDS = 0.5


@pytest.fixture
def address() -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def handled_here() -> Iterator[None]:
    """Pytest's own handler of ctrl+c is Python's, but that of a thread may be none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An overloaded store is asked again without a pause."""
    monkeypatch.setattr("paimark.core.storage.s3.s3_files._THROTTLED_SECONDS", (0.0,))


def answering(status: int, body: str) -> LocalServer:
    class Fixed(Handler):
        def handle_request(self) -> None:
            self.body()
            headers = (("Content-Length", str(len(body))), ("Content-Type", "application/xml"))
            self.pass_on(Answer(status, headers, body.encode()))

    return LocalServer(Fixed)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, "<html>Bad Gateway</html>"),
        pytest.param(504, "<html>Gateway Time-out</html>", marks=pytest.mark.long),
        pytest.param(500, _ERROR.format("InternalError"), marks=pytest.mark.long),
        # The client sends it again, and the first may still be carried out.
        (503, _ERROR.format("SlowDown")),
    ],
)
def test_an_answer_that_leaves_it_open_is_none(status: int, body: str, address: str, at_once: None) -> None:
    with answering(status, body) as server:
        files = open_files(address, s3_options(server.endpoint))
        with pytest.raises(Unanswered):
            files.replace("t/a", b"x")
        with pytest.raises(Unanswered):
            files.delete("t/a")


_SLOW = Fault(503, "SlowDown", "Please reduce your request rate.")


@pytest.mark.parametrize("acted", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.usefixtures("at_once")
def test_a_store_that_is_overloaded_for_a_while_is_asked_again(acted: bool, address: str) -> None:
    """Of a write that is given up nobody knows anything, and whoever recovers waits a quarter of an hour."""
    slow: list[Fault] = []

    def overloaded(method: str, key: str) -> Fault | None:
        return slow.pop() if slow and key.endswith("t/a") else None

    with PretendingServer("keeps") as server:
        files = open_files(address, server.options())
        server.fault = overloaded
        # The client asks twice by itself.
        twice = [_SLOW, _SLOW._replace(acted=acted)]
        slow += twice
        assert files.create("t/a", b"mine")
        slow += twice
        files.replace("t/a", b"x")
        assert files.read("t/a") == b"x"
        slow += twice
        files.delete("t/a")
        assert not slow and not files.exists("t/a")


@pytest.mark.usefixtures("at_once")
def test_a_refusal_after_an_answer_that_left_it_open_is_none(address: str) -> None:
    with PretendingServer("keeps") as server:
        files = open_files(address, server.options())
        faults = [DENIED, _SLOW._replace(acted=True), _SLOW]
        server.fault = lambda method, key: faults.pop() if faults and key.endswith("t/a") else None
        with pytest.raises(Unanswered):
            files.replace("t/a", b"x")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "AccessDenied", Denied),
        (403, "InvalidAccessKeyId", Unavailable),
        (501, "NotImplemented", Unavailable),
    ],
)
def test_a_refusal_is_an_answer(status: int, code: str, kind: type[Unavailable], address: str) -> None:
    with answering(status, _ERROR.format(code)) as server:
        files = open_files(address, s3_options(server.endpoint))
        with pytest.raises(kind) as refused:
            files.replace("t/a", b"x")
    assert not isinstance(refused.value, Unanswered)


class HeldWrite:
    """Ctrl+c, `presses` times, while the server has a write: it carries out each `seconds` later."""

    def __init__(self, s3: S3Server, address: str, presses: int, seconds: float) -> None:
        self._presses = presses
        self._seconds = seconds
        self.pressed: list[float] = []
        self.proxy = Proxy(s3, self._hold)
        self._options = s3.options(self.proxy.endpoint)
        self._address = address

    def files(self, **more: str) -> Files:
        return open_files(self._address, {**self._options, **more})

    def _hold(self, method: str, headers: dict[str, str]) -> str:
        if method in ("PUT", "DELETE"):
            for _ in range(0 if self.pressed else self._presses):
                self.pressed.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)
            time.sleep(self._seconds)
        return "all"


@pytest.mark.usefixtures("handled_here")
def test_ctrl_c_waits_for_the_answer_to_a_write(s3: S3Server, address: str) -> None:
    """Else it would be carried out on what was taken back meanwhile."""
    files = open_files(address, s3.options())
    held = HeldWrite(s3, address, 1, _LATE_SECONDS)
    with held.proxy, pytest.raises(KeyboardInterrupt):
        held.files().replace("t/a", b"x")
    assert files.read("t/a") == b"x"
    held = HeldWrite(s3, address, 1, _LATE_SECONDS)
    with held.proxy, pytest.raises(KeyboardInterrupt):
        held.files().delete("t/a")
    assert not files.exists("t/a")


@pytest.mark.usefixtures("handled_here")
def test_a_second_ctrl_c_does_not_wait_and_tells_that_no_answer_came(s3: S3Server, address: str) -> None:
    held = HeldWrite(s3, address, 2, 2 * _LATE_SECONDS)
    with held.proxy:
        with pytest.raises(Unanswered, match=about("interrupted", "store", "answered")):
            held.files().replace("t/a", b"x")
        assert time.monotonic() - held.pressed[-1] < _LATE_SECONDS


@pytest.mark.usefixtures("handled_here")
def test_ctrl_c_before_an_answer_that_never_comes_is_no_interrupt(s3: S3Server, address: str) -> None:
    # Longer than all tries of a client on a busy machine. An interrupt here would end all tests.
    held = HeldWrite(s3, address, 1, 16 * _LATE_SECONDS)
    with held.proxy, pytest.raises((Unanswered, KeyboardInterrupt), match="can't be used"):
        held.files(**{"s3.connection.timeout": "200"}).replace("t/a", b"x")


def test_a_delete_of_ones_own_file_that_is_done_again_later_leaves_anothers(
    s3: S3Server, address: str
) -> None:
    """A client sends a request again that was not answered, and the store may carry out both."""
    sent: list[dict[str, str]] = []

    def note(method: str, headers: dict[str, str]) -> str:
        if method == "DELETE":
            sent.append(dict(headers))
        return "all"

    with Proxy(s3, note) as proxy:
        files = open_files(address, s3.options(proxy.endpoint))
        files.replace("t/lock", b"mine")
        files.delete_own("t/lock", lambda data: data == b"another's")
        assert files.read("t/lock") == b"mine"
        files.delete_own("t/lock", lambda data: data == b"mine")
        assert not files.exists("t/lock")
        # Again, when there is none.
        files.delete_own("t/lock", lambda data: True)
        files.replace("t/lock", b"another's")
    [headers] = sent
    connection = http.client.HTTPConnection(s3.endpoint.removeprefix("http://"))
    connection.request("DELETE", f"/{address.removeprefix('s3://')}/t/lock", headers=headers)
    assert connection.getresponse().status == 412
    assert open_files(address, s3.options()).read("t/lock") == b"another's"
