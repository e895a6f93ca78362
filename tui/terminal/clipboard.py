"""Copying through the terminal: OSC 52, which reaches the clipboard of the machine one sits at."""

from __future__ import annotations

import base64
from collections.abc import Mapping

# Terminals drop longer sequences silently: 100,000 bytes is the limit that most of them share.
MOST_BYTES = 74_000


def copy_sequence(text: str, environment: Mapping[str, str]) -> str | None:
    """The escape sequence that copies the text; None when it is more than terminals take.

    tmux and screen pass a sequence on only inside their own wrapping, and only where they are set to; with
    `set-clipboard on` tmux takes the bare one. Both are sent.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        return None
    bare = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environment.get("TMUX"):
        return bare + "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY") or environment.get("TERM", "").startswith("screen"):
        # screen cuts a long string off: it is handed over in pieces.
        pieces = (bare[start : start + 250] for start in range(0, len(bare), 250))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return bare
