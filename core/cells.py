"""Fit text into a number of terminal cells."""

from __future__ import annotations

ELLIPSIS = "…"
# The fewest cells in which both ends of a text are kept.
_FEWEST_BOTH = 8


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
