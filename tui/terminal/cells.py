"""A cell of the screen, as it was sent."""

from __future__ import annotations

from typing import NamedTuple


class Ink(NamedTuple):
    """The codes that set a style on a reset terminal: attributes, foreground, background; a web address."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


# A character, with those that combine with it, and its ink. A wide one is followed by an empty one.
ScreenCell = tuple[str, Ink]
# None: it was never sent, so nobody knows what is there.
Line = list[ScreenCell | None]
