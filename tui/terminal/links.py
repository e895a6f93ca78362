"""Make values that are web addresses clickable in terminals that support links (OSC 8)."""

from __future__ import annotations

import re

# Without a user name before the host: if the text is cut, it could look like the host.
_ADDRESS = r"https?://[0-9A-Za-z\[][0-9A-Za-z.:\]-]*(?:[/?#][!-~]*)?"
# Terminals ignore longer addresses.
_LONGEST = 2000


def link_in(text: object) -> str:
    """The value itself if all of it is a web address; else empty."""
    if not isinstance(text, str) or not text.startswith("http") or len(text) > _LONGEST:
        return ""
    return text if re.fullmatch(_ADDRESS, text) else ""


def link_code(address: str) -> str:
    """The code that begins a link, or ends it if the address is empty.

    The id tells the terminal which cells belong to one link, because they may be sent separately.
    """
    from zlib import crc32

    number = f"id={crc32(address.encode()):x}" if address else ""
    return f"\x1b]8;{number};{address}\x1b\\"
