"""Keys by their place on the keyboard: whoever writes Cyrillic need not switch the layout to press a key."""

from __future__ import annotations

from textual.events import Key
from textual.keys import _character_to_key

_LATIN = "`qwertyuiop[]asdfghjkl;'zxcvbnm,./" + '~QWERTYUIOP{}ASDFGHJKL:"ZXCVBNM<>?'
# The same keys of the Russian layout, and those on which the Ukrainian and the Belarusian differ.
_RUSSIAN = "ёйцукенгшщзхъфывапролджэячсмитьбю." + "ЁЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮ,"
_OTHERS = {"і": "s", "І": "S", "ї": "]", "Ї": "}", "є": "'", "Є": '"', "ў": "o", "Ў": "O"}
_LETTERS = {
    letter: key for letter, key in zip(_RUSSIAN, _LATIN, strict=True) if not letter.isascii()
} | _OTHERS


def latin(event: Key) -> Key:
    """The key at the same place of a Latin layout; the event itself if it is no Cyrillic letter."""
    character = _LETTERS.get(event.character or "")
    return event if character is None else Key(_character_to_key(character), character)
