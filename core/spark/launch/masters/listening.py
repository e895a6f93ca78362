"""Check that a process listens at a port."""

from __future__ import annotations

import socket

_CONNECT_SECONDS = 5.0


def refusal_of(*places: str) -> str:
    """The reason why none of the places, `host:port` each, accepts connections; empty if one does."""
    refused = ""
    for each in places:
        host, _, port = each.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
            return ""
        except (OSError, ValueError) as error:
            refused = str(error)
    return refused
