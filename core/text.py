"""Text for a terminal: cleaned, as a table's may be hostile to it or to a reader, and fitted into cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations

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
ELLIPSIS = "…"
# The fewest cells in which both ends of a text are kept.
_FEWEST_BOTH = 8
# How many characters stay before a difference, and how many after its first one if there is room.
_BEFORE_DIFFERENCE, _AFTER_DIFFERENCE = 3, 8


def plain_text(value: object) -> str:
    """The value as text; a DECIMAL with all its places, as SQL has it: `0.0000001`, not `1E-7`."""
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def clean_text(value: object) -> str:
    """One line without anything that moves a cursor, rings, recolours, copies, reorders or hides.

    Tabs and line ends become one space; every other hostile character becomes `\N{REPLACEMENT CHARACTER}`,
    so that a name which hides something does not look like one that does not.
    """
    text = plain_text(value)
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


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _pieces(text: str, width: int) -> list[str]:
    from rich.cells import chop_cells

    return chop_cells(text, width) or [""]


def fit(text: str, width: int, *, right: bool = False, middle: bool = False) -> str:
    """Exactly `width` cells: padded, or cut with an ellipsis at its end or in its `middle`."""
    if text.isascii() and len(text) <= width:
        return text.rjust(width) if right else text.ljust(width)
    text = cut_middle(text, width) if middle else cut(text, width)
    padding = " " * (width - width_of(text))
    return padding + text if right else text + padding


def cut(text: str, width: int) -> str:
    """At most `width` cells, with an ellipsis for the part that was cut."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    return _pieces(text, width - 1)[0] + ELLIPSIS


def cut_middle(text: str, width: int) -> str:
    """At most `width` cells, cut so that both ends stay: names often differ in their last word only."""
    if width_of(text) <= width:
        return text
    # An end of two or three letters is no help.
    if width < _FEWEST_BOTH:
        return cut(text, width)
    head = _pieces(text, width - 1 - (width - 1) // 2)[0]
    tail = _pieces(text[::-1], width - 1 - width_of(head))[0][::-1]
    return f"{head}{ELLIPSIS}{tail}"


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at blanks if there are any; at least one line."""
    lines: list[str] = []
    line = " " * min(len(text) - len(text.lstrip(" ")), width - 1)
    first = True
    for word in text.lstrip(" ").split(" "):
        candidate = line + word if first else f"{line} {word}"
        first = False
        if width_of(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        *whole, line = _pieces(word, max(1, width))
        lines.extend(whole)
    return [*lines, line]


class Fitted(str):
    """A text that is not just cut at its end."""

    __slots__ = ()

    def fitted(self, width: int) -> str:
        """Clean text of at most `width` cells."""
        return cut(clean_text(self[: width + 1]), width)

    def fits(self, width: int) -> bool:
        return len(self) <= width and width_of(clean_text(self)) <= width


class Compared(Fitted):
    """A text that others are compared with. `marks` are the ascending positions at which it begins to differ
    from one of them, or others among themselves; `longest` is the length of the longest.
    """

    marks: tuple[int, ...]
    longest: int

    def __new__(cls, text: str, marks: tuple[int, ...], longest: int) -> Compared:
        made = super().__new__(cls, text)
        made.marks, made.longest = marks, longest
        return made

    def fitted(self, width: int) -> str:
        if self.fits(width):
            return clean_text(self)
        return cut(_around(self, self.marks, self.longest, width), width)


def compared(texts: Sequence[str]) -> list[Compared]:
    """The texts, each with the positions of the differences."""
    pairs = combinations(dict.fromkeys(texts), 2)
    marks = tuple(sorted({_first_difference(*pair) for pair in pairs}))
    longest = max(map(len, texts), default=0)
    return [Compared(text, marks, longest) for text in texts]


def _first_difference(one: str, other: str) -> int:
    """The length of their common beginning, by bisection: a text may have megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _around(text: str, marks: tuple[int, ...], longest: int, width: int) -> str:
    """The first mark and the last in a text of about `width` characters, which may be too long."""
    after = min(_AFTER_DIFFERENCE, width // 3)
    if not marks or marks[-1] + after < width:
        return clean_text(text[: width + 1])
    first, last = marks[0], marks[-1]
    # With an ellipsis at both ends.
    if last - first + _BEFORE_DIFFERENCE + 2 < width:
        # The same beginning for all of them, so that they stay one below the other.
        start = max(0, min(first - _BEFORE_DIFFERENCE, longest - (width - 1)))
        return (ELLIPSIS if start else "") + clean_text(text[start : start + width + 1])
    start, half = last - _BEFORE_DIFFERENCE, (width - 1) // 2
    head = cut(_around(text[:start], (first,), start, half), half).removesuffix(ELLIPSIS)
    return head + ELLIPSIS + clean_text(text[start : start + width])
