"""Whether a server listens is known within seconds, whatever its name and port are."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import ExitStack

import pytest

from paimark.core import listening
from paimark.core.listening import reason, require_listening


def test_a_server_that_listens_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_listening("127.0.0.1", server.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", 1, "Connection refused"),
        ("[::1]", 1, "refused|Cannot assign|unreachable|not supported"),
        ("127.0.0.1", 99999, "99999 is no port"),
        ("a..b", 80, r"(?=.*\bhost\b).*a\.\.b"),
        ("x" * 70, 80, f"(?=.*\\bhost\\b).*{'x' * 70}"),
    ],
)
def test_the_reason_is_in_words(host: str, port: int, words: str) -> None:
    with pytest.raises(OSError) as failed:
        require_listening(host, port)
    assert re.search(words, reason(failed.value))
    assert "Errno" not in reason(failed.value)


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        # The system accepts no further connection once these wait.
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        with pytest.raises(OSError, match="timed out"):
            require_listening("127.0.0.1", server.getsockname()[1])


def test_a_search_for_an_address_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers nobody keeps the system's call for half a minute."""
    answered = threading.Event()

    def search(*_: object) -> socket.socket:
        answered.wait(60)
        return socket.socket()

    monkeypatch.setattr(socket, "create_connection", search)
    monkeypatch.setattr(listening, "_SECONDS", 0.2)
    with pytest.raises(TimeoutError, match="no answer within"):
        require_listening("storage.invalid", 80)
    answered.set()
