"""Values that are web addresses open with a click where the terminal knows links (OSC 8)."""

from __future__ import annotations

import re
from zlib import crc32

# Without a name before the host: what is seen may be cut, and would look like another one's address.
_ADDRESS = re.compile(r"https?://[0-9A-Za-z\[][0-9A-Za-z.:\]-]*(?:[/?#][!-~]*)?", re.ASCII)
# Longer ones terminals leave out.
_LONGEST = 2000


def link_in(text: object) -> str:
    """The web address that a value is, whole; empty for any other value."""
    if not isinstance(text, str) or not text.startswith("http") or len(text) > _LONGEST:
        return ""
    return text if _ADDRESS.fullmatch(text) else ""


def link_code(address: str) -> str:
    """What begins a link, or ends it where the address is empty.

    The number tells the terminal which cells are of one link, as they may be sent apart.
    """
    number = f"id={crc32(address.encode()):x}" if address else ""
    return f"\x1b]8;{number};{address}\x1b\\"
