"""Separate `esc` from a key right after it. A slow line delivers both at once, like that key with Alt.

Textual reads them as the key with Alt, as a letter that macOS types with Option, or drops `esc`. Here they
are two keys, unless the key with Alt has a binding.
"""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Iterable
from functools import partial

from textual._xterm_parser import XTermParser
from textual.driver import Driver
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


# Textual's driver would end the program at the first such byte. Here a character replaces each of them.
def read_any_bytes() -> None:
    """Make Textual's driver accept such bytes."""
    linux_driver.getincrementaldecoder = _lenient  # type: ignore[attr-defined, assignment]


def _lenient(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), "replace")


def toggle(driver: Driver) -> bool:
    """Switch the mouse; return whether it is on now. By private parts of Textual, which has no API for it."""
    if driver._mouse:
        _call(driver, "_disable_mouse_support")
        driver._mouse = False
    else:
        driver._mouse = True
        _call(driver, "_enable_mouse_support")
    return driver._mouse


def _call(driver: Driver, name: str) -> None:
    # A driver without a terminal has no such methods.
    getattr(driver, name, lambda: None)()
