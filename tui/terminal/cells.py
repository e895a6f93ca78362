"""A cell of the screen, as it was sent."""

from __future__ import annotations

from typing import NamedTuple


class Ink(NamedTuple):
    """The codes that set a style on a reset terminal: attributes, foreground, background; a web address."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


# A character with its combining characters, and its ink. An empty cell follows a wide character.
ScreenCell = tuple[str, Ink]
# None: the cell was never sent, so its content is unknown.
Line = list[ScreenCell | None]
