"""Separate `esc` from a key right after it. A slow line delivers both at once, like that key with Alt.

Textual reads them as the key with Alt, as a letter that macOS types with Option, or drops `esc`. Here they
are two keys, unless the key with Alt has a binding.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.events import Key
from textual.screen import Screen

from paimark.tui.terminal.key_order import is_bound

ESC = "\x1b"
_ALT = "alt+"
_WITH_OPTION = frozenset(ESC + character for character in "§1234567890-=")


class KeyParser(XTermParser):
    """A parser that keeps an `esc` before a key for which Textual has no name with Alt."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if sequence == ESC:
            # Another `esc` follows at once. Named "escape", this one would become a circumflex.
            yield Key(f"{_ALT}escape", ESC)
        if sequence == ESC or sequence in _WITH_OPTION:
            return
        keys = list(super()._sequence_to_key_events(sequence, alt))
        if alt and not any(key.key.startswith(_ALT) for key in keys):
            yield Key("escape", ESC)
        yield from keys


def read_escape() -> None:
    """Make Textual's driver use `KeyParser`."""
    linux_driver.XTermParser = KeyParser  # type: ignore[attr-defined]


def apart(screen: Screen[object], key: Key) -> list[Key]:
    """The keys that a person typed for this event."""
    # A terminal that distinguishes Alt from `esc` sends no character.
    if not key.key.startswith(_ALT) or key.character is None:
        return [key]
    if is_bound(screen, key.key):
        # Without the character, so that a text field does not insert it.
        return [Key(key.key, None)]
    escape = Key("escape", ESC)
    return [escape] if key.character == ESC else [escape, Key(key.character, key.character)]
