"""Fitting text into a number of terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, chop_cells

ELLIPSIS = "…"


def width_of(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells: padded, or cut with an ellipsis."""
    if text.isascii() and len(text) <= width:
        return text.rjust(width) if right else text.ljust(width)
    length = cell_len(text)
    if length > width:
        text = cut(text, width)
        length = cell_len(text)
    padding = " " * (width - length)
    return padding + text if right else text + padding


def cut(text: str, width: int) -> str:
    """At most `width` cells, with an ellipsis where something is missing."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    return chop_cells(text, width - 1)[0] + ELLIPSIS


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at blanks where there are any; at least one line."""
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
        *whole, line = chop_cells(word, max(1, width)) or [""]
        lines.extend(whole)
    return [*lines, line]
