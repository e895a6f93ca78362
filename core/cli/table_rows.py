"""Rows as a table for people: whole in a pipe, cut to the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import TextIO

from core.cli.json_rows import as_text
from core.text import clean_text

# Widths are settled by this many rows; a later, wider cell pushes its line to the right.
_MEASURED = 500
_GAP = "  "
_NARROWEST = 6


class TableRows:
    """Writes a header, a rule and a line a row. `width` is the terminal's, None in a pipe.

    `null` is what an absent cell says.
    """

    def __init__(self, out: TextIO, names: Sequence[str], width: int | None, null: str = "") -> None:
        self._out = out
        self._names = [clean_text(name) for name in names]
        self._width = width
        self._null = null
        self._held: list[list[str]] = []
        self._numeric = [True] * len(names)
        self._widths: list[int] | None = None

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        remaining = iter(rows)
        if self._widths is None:
            for row in islice(remaining, _MEASURED - len(self._held)):
                self._measure(row)
            if len(self._held) < _MEASURED:
                return
            self._begin()
        for row in remaining:
            self._line([self._cell(value) for value in row])

    def close(self) -> None:
        if self._widths is None:
            self._begin()

    def _measure(self, row: Sequence[object]) -> None:
        self._held.append([self._cell(value) for value in row])
        for position, value in enumerate(row):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float | Decimal)
            ):
                self._numeric[position] = False

    def _begin(self) -> None:
        widths = [cell_width(name) for name in self._names]
        for row in self._held:
            widths = [max(wide, cell_width(cell)) for wide, cell in zip(widths, row, strict=True)]
        self._widths = widths if self._width is None else fit(widths, self._width)
        self._line(self._names)
        self._line(["─" * wide for wide in self._widths])
        for row in self._held:
            self._line(row)
        self._held.clear()

    def _cell(self, value: object) -> str:
        if value is None:
            return self._null
        if isinstance(value, bool):
            return "true" if value else "false"
        return clean_text(as_text(value))

    def _line(self, cells: Sequence[str]) -> None:
        assert self._widths is not None
        padded = []
        for cell, wide, numeric in zip(cells, self._widths, self._numeric, strict=True):
            shown = cell if self._width is None else cut(cell, wide)
            space = " " * (wide - cell_width(shown))
            padded.append(space + shown if numeric else shown + space)
        self._out.write(_GAP.join(padded).rstrip() + "\n")


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(widths: Sequence[int], available: int) -> list[int]:
    """The widths, the widest made narrower until a line fits, none below what still says something."""
    result = list(widths)
    excess = sum(result) + len(_GAP) * (len(result) - 1) - available
    while excess > 0 and result:
        widest = max(result)
        if widest <= _NARROWEST:
            break
        second = max([wide for wide in result if wide < widest], default=0)
        sharing = [position for position, wide in enumerate(result) if wide == widest]
        step = max(1, min(widest - max(second, _NARROWEST), -(-excess // len(sharing))))
        for position in sharing:
            result[position] -= step
            excess -= step
    return result


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits and a sign that there is more."""
    if cell_width(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1) + "…"
