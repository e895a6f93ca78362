"""Clean text from a table before it is shown: it may be hostile to a terminal, or to its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# C0 and C1 controls, DEL, halves of surrogate pairs, line and paragraph separators, bidirectional marks,
# overrides and isolates, fillers, tags, and every other character that takes no room and shows nothing.
_HOSTILE = (
    "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Joiners and variation selectors show nothing either, but these scripts and emoji are written with them.
_JOINED = "\u0600-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc"
_EMOJI = "\u00a9\u00ae\u203c-\u33ff\ufe0f\U0001f000-\U0001faff"
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Few texts need these wide patterns: `re` compiles and keeps them on their first use.
_INVISIBLE = (
    f"[{_HOSTILE}]|(?<![{_JOINED}])\u200c|(?<![{_JOINED}{_EMOJI}])\u200d|(?<![{_HAN}])[\U000e0100-\U000e01ef]"
    f"|(?<![{_EMOJI}])(?:\ufe0e|\ufe0f(?!\u20e3))"
)
_HALF = "[\ud800-\udfff]"
_NOT_IN_NAMES = (
    f"[{_HOSTILE}\u200c\u200d\ufe0e\ufe0f\U000e0100-\U000e01ef"
    "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]"
)


def clean_text(value: object) -> str:
    """One line without anything that moves a cursor, rings, recolours, copies, reorders or hides.

    Tabs and line ends become one space; every other hostile character becomes `\N{REPLACEMENT CHARACTER}`,
    so that a name which hides something does not look like one that does not.
    """
    text = str(value)
    if text.isprintable() and (text.isascii() or all(map(_is_common, text))):
        return text
    return re.sub(_INVISIBLE, _replacement, text)


def lowered(sentence: str) -> str:
    """The sentence to put behind a colon."""
    return sentence[:1].lower() + sentence[1:]


def capitalised(sentence: str) -> str:
    """The sentence to put at the beginning of a line."""
    return sentence[:1].upper() + sentence[1:]


def _is_common(character: str) -> bool:
    """Whether a printable character is a Latin letter, punctuation, an arrow, a line or a shape."""
    return character < "\u034f" or "\u2010" <= character < "\u2800"


def clean_json(text: str) -> str:
    """The same JSON with every hostile character as its escape, because it may be printed on a terminal.

    `text` is encoded already: the line ends and spaces between its values stay.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_INVISIBLE, _escape, text)


def quoted_if_unclear(text: str) -> str:
    """The text; as a JSON string if on a screen it would look like another text, or like a missing value.

    Such are an empty text, `null`, blanks at its ends, a quote at its beginning, and characters that
    `clean_text` replaces.
    """
    if text == text.strip() and text not in ("", "null") and text[0] != '"' and clean_text(text) == text:
        return text
    import json

    return clean_json(json.dumps(text, ensure_ascii=False))


def unseen_in(name: str) -> str | None:
    """The first character of a name that shows nothing, or only a blank; None if there is none."""
    match = re.search(_NOT_IN_NAMES, name)
    return match[0] if match else None


def has_halves(text: str) -> bool:
    """Whether it has half a surrogate pair, which can't be encoded: from bytes not in UTF-8, or escaped."""
    return not text.isascii() and re.search(_HALF, text) is not None


def spelled(name: str) -> str:
    r"""The name in quotation marks, with escapes for hostile characters and for bytes not in UTF-8."""
    return re.sub(r"\\udc([89a-f][0-9a-f])", r"\\x\1", repr(name))


def whole_number(text: str | bytes) -> int | None:
    """The number in 1 to 18 digits, with or without blanks around them; None for all else."""
    digits = text.strip()
    return int(digits) if digits.isdigit() and digits.isascii() and len(digits) <= 18 else None


def _replacement(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n\r\v\f\u2028\u2029" else "\N{REPLACEMENT CHARACTER}"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\n":
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def distinct(names: Sequence[str], alike: Callable[[str], str] = str) -> list[str]:
    """The names; the later of two that are `alike` gets a number after it."""
    taken: set[str] = set()
    written = set(map(alike, names))
    result = []
    for name in names:
        unique, number = name, 2
        while alike(unique) in taken or (unique != name and alike(unique) in written):
            unique, number = f"{name}_{number}", number + 1
        taken.add(alike(unique))
        result.append(unique)
    return result
