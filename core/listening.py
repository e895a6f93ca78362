"""Check that a server accepts connections, before a client tries for minutes."""

from __future__ import annotations

import socket
import threading

# For one address. A name can have several, of which the first ones may not answer.
_CONNECT_SECONDS = 5.0
_SECONDS = 10.0
_LAST_PORT = 65535


def require_listening(host: str, port: int) -> None:
    """Connect once. Raises `OSError` if nothing listens, or does not answer within ten seconds.

    Also for an impossible name or port. An IPv6 address may be in brackets.
    """
    if not 0 < port <= _LAST_PORT:
        # The system would take the rest of a division.
        raise OSError(f"{port} is no port")
    outcome: list[OSError | None] = []

    def connect() -> None:
        outcome.append(_error(host.strip("[]"), port))

    # In a thread, because nothing else bounds how long the search for an address takes.
    thread = threading.Thread(target=connect, name="listening", daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if not outcome:
        raise TimeoutError(f"no answer within {_SECONDS:.0f} s")
    if outcome[0] is not None:
        raise outcome[0]


def refusal_of(*places: str) -> str:
    """The reason why none of the places, `host:port` each, accepts connections; empty if one does."""
    refused = ""
    for each in places:
        host, _, port = each.rpartition(":")
        if not port.isdecimal():
            refused = f"{port} is no port"
            continue
        try:
            require_listening(host, int(port))
            return ""
        except OSError as error:
            refused = reason(error)
    return refused


def reason(error: OSError) -> str:
    """The error of `require_listening` in words, without its number."""
    return error.strerror or str(error)


def _error(host: str, port: int) -> OSError | None:
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        return error
    except UnicodeError:
        return OSError(f"{host} is no name of a host")
    return None
