"""Check that one of several masters listens."""

from __future__ import annotations

from paimark.core.storage.network.listening import reason, require_listening


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
