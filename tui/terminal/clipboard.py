"""Copy through the terminal (OSC 52): it sets the clipboard of the user's machine, also over SSH."""

from __future__ import annotations

import base64
from collections.abc import Mapping

# Terminals silently drop longer sequences: 100,000 bytes is the common limit.
MOST_BYTES = 74_000


def copy_sequence(text: str, environment: Mapping[str, str]) -> str | None:
    """The escape sequence that copies the text; None if the text is longer than terminals accept.

    tmux and screen pass a sequence on only inside their own wrapping, and only if that is configured; with
    `set-clipboard on` tmux takes the bare one. For tmux both are sent.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        return None
    bare = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if environment.get("TMUX"):
        return bare + "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY") or environment.get("TERM", "").startswith("screen"):
        # screen truncates a long string, so it gets pieces.
        pieces = (bare[start : start + 250] for start in range(0, len(bare), 250))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return bare
