"""Which values are links."""

from __future__ import annotations

import pytest

from paimark.tui.terminal.cells import link_in


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "http://10.0.0.1:8080/a/b?c=d#e",
        "https://wiki.example.org/x_(y)",
        "https://a.b/@c",
    ],
)
def test_a_web_address_is_one(address: str) -> None:
    assert link_in(address) == address


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "", "orders", "https://", "see https://example.org", "https://example.org and more"),
        *("file:///etc/passwd", "javascript:alert(1)", "ftp://example.org"),
        # Of what is cut nobody would see where it leads.
        "https://example.org@evil.example/",
        "https://example.org\x1b\\\x1b]52;c;aGk=\x07",
        "https://example.org/\u202egro",
        "https://exämple.org/",
        "https://example.org/" + "a" * 2000,
    ],
)
def test_anything_else_is_none(value: object) -> None:
    assert link_in(value) == ""
