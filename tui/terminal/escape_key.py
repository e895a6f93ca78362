"""`esc` and a key right after it, which a slow line brings as one: terminals send Alt and that key so, too.

Textual reads them as the key with Alt, as a letter that macOS types with Option, or leaves `esc` out. Here
they are what they were typed as, except where the key with Alt is bound.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.events import Key
from textual.screen import Screen

from tui.terminal.key_order import is_bound

ESC = "\x1b"
_ALT = "alt+"
_WITH_OPTION = frozenset(ESC + character for character in "§1234567890-=")


class KeyParser(XTermParser):
    """Loses no `esc` before a key that it has no name with Alt for."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if sequence == ESC:
            # Followed by another one at once. By its own name it would be made a circumflex.
            yield Key(f"{_ALT}escape", ESC)
        if sequence == ESC or sequence in _WITH_OPTION:
            return
        found = list(super()._sequence_to_key_events(sequence, alt))
        if alt and not any(key.key.startswith(_ALT) for key in found):
            yield Key("escape", ESC)
        yield from found


def read_escape() -> None:
    """From now on the terminal's driver reads `esc` so."""
    linux_driver.XTermParser = KeyParser  # type: ignore[attr-defined]


def apart(screen: Screen[object], key: Key) -> list[Key]:
    """The keys that this one was typed as."""
    # A terminal that tells Alt from `esc` sends no character with it.
    if not key.key.startswith(_ALT) or key.character is None:
        return [key]
    if is_bound(screen, key.key):
        # Whoever takes text would take the character.
        return [Key(key.key, None)]
    escape = Key("escape", ESC)
    return [escape] if key.character == ESC else [escape, Key(key.character, key.character)]
