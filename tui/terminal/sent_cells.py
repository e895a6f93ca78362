"""Send the terminal only the cells that differ from those it shows: few bytes over a slow line.

Textual sends whole lines and, when a dialog opens or closes, the whole screen, most of it blanks that are
already there. This module keeps the sent cells of each line, and reduces each update to the cursor moves,
colours and characters that are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from paimark.tui.terminal.cells import (
    Ink,
    Line,
    ScreenCell,
    by_ink,
    can_erase,
    can_link,
    find_scroll,
    link_code,
)

_CODES = re.compile("\x1b\\[([0-9;]*)m")
# Characters that a terminal may show in another width than we count, or join with a neighbour.
_ODD = re.compile("[^\x20-\u02ff\u2010-\u27ff]")
# Up to this many equal cells between two changed ones are sent again: a move past them is longer.
_GAP = 4
# The codes that erase cells and move past them take about ten bytes.
_FEWEST_ERASED = 11
# Attributes that do not change the look of a blank: none, bold, faint, italic.
_UNSEEN = frozenset(("", "1", "2", "3"))


_PLAIN = Ink()
_NOTHING = LayoutUpdate([], Region())
_TEXT, _INK = itemgetter(0), itemgetter(1)


class SentCells:
    """The cells that the terminal shows, as they were sent."""

    def __init__(self, *, erases: bool = False, links: bool = False) -> None:
        """`erases` says that the terminal can erase cells to a colour, `links` that it takes links."""
        self._erases = erases
        self._links = links
        self._lines: dict[int, Line] = {}
        # By line, the columns of pieces of uncertain width: the terminal may show other cells there.
        self._odd: dict[int, set[int]] = {}
        self._size = (0, 0)

    @property
    def knows_cells(self) -> bool:
        return bool(self._lines)

    def forget(self) -> None:
        """Forget all cells, because the terminal may show anything: the next updates are sent whole."""
        self._lines.clear()
        self._odd.clear()

    def reduced(self, update: CompositorUpdate, size: tuple[int, int]) -> CompositorUpdate:
        """The update without cells that are already shown, on a screen of this many columns and lines."""
        if not isinstance(update, LayoutUpdate | ChopsUpdate):
            self.forget()
            return update
        if size != self._size:
            self._size = size
            self.forget()
        return _Reduced(self, _NOTHING if _is_beyond(update, size) else update)

    def send(self, update: LayoutUpdate | ChopsUpdate, system: ColorSystem | None) -> str:
        """The codes that show the update; its cells are noted as sent."""
        before: dict[int, Line] = {}
        unsure = self._unsure
        # The column, line, old cells and new cells of each piece that changed.
        changed: list[tuple[int, int, Line, list[ScreenCell]]] = []
        for y, x, strip in _pieces(update):
            cells = _cells_of(strip, system, self._links)
            line = self._lines.setdefault(y, [])
            if y not in before:
                before[y] = list(line)
            line.extend([None] * (x + len(cells) - len(line)))
            old = line[x : x + len(cells)]
            line[x : x + len(cells)] = cells
            if old == cells:
                continue
            odd = self._odd.setdefault(y, set())
            is_odd = _ODD.search(strip.text) is not None
            # If the line may show other cells than these, all of the piece is written.
            changed.append((x, y, [] if is_odd or odd or y in unsure else old, cells))
            (odd.update if is_odd else odd.difference_update)(range(x, x + len(cells)))
        scrolled = self._scrolled(before, unsure)
        pen = _Pen(self._erases)
        spans = ((x + a, y, cells[a:b]) for x, y, old, cells in changed for a, b in _changes(old, cells))
        for x, y, run in by_ink(spans):
            pen.write(x, y, run)
        return scrolled if scrolled is not None and len(pen.text) > len(scrolled) else pen.text

    @property
    def _unsure(self) -> set[int]:
        """The lines whose content on the terminal is uncertain."""
        return {y for y, pieces in self._odd.items() if pieces}

    def _scrolled(self, before: Mapping[int, Line], unsure: set[int]) -> str | None:
        """The codes for the same update by moving lines; None if no scroll fits.

        `before` has the old content of each line of the update.
        """
        now = {y: self._lines[y] for y, line in before.items() if line != self._lines[y]}
        scroll = find_scroll(before, now, self._size[0])
        if scroll is None or not (unsure | self._unsure).isdisjoint(now):
            return None
        pen = _Pen(self._erases)
        for y, line in now.items():
            old = scroll.after(before, y)
            for start, end in _changes(old + [None] * (len(line) - len(old)), line):
                pen.write(start, y, cast("list[ScreenCell]", line[start:end]))
        return scroll.codes + pen.text


class _Reduced(CompositorUpdate):
    def __init__(self, sent: SentCells, update: LayoutUpdate | ChopsUpdate) -> None:
        self._sent = sent
        self._update = update
        self._text: str | None = None

    def render_segments(self, console: Console) -> str:
        # Only once, because `send` notes the cells as sent.
        if self._text is None:
            self._text = self._sent.send(self._update, console._color_system)
        return self._text


class SparingApp(App[None]):
    """An app that sends the terminal only the differences, and nothing at all if there are none."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._sent = SentCells(erases=can_erase(), links=can_link())

    @property
    def driver(self) -> Driver | None:
        """What writes to the terminal, past the screen; None before it starts."""
        return self._driver

    def _display(self, screen: Screen[object], renderable: Any) -> None:
        if isinstance(renderable, CompositorUpdate):
            renderable = self._sent.reduced(renderable, self.size)
            if self._is_shown(renderable):
                return
        super()._display(screen, renderable)

    def _is_shown(self, update: CompositorUpdate) -> bool:
        """Whether the terminal already shows the update. Textual sends codes even for an empty one."""
        if self.driver is None or self.is_headless or self._closed or self._batch_count or not self._running:
            return False
        at = self.screen.outer_size.clamp_offset(self.cursor_position)
        return at == self._previous_cursor_position and not update.render_segments(self.console)

    def on_resize(self) -> None:
        # Also to the same size: of several events only the last comes, and a window that was smaller for a
        # moment has lost cells. At the start nothing was sent yet.
        if self._sent.knows_cells:
            self.action_redraw()

    def action_redraw(self) -> None:
        """Send the whole screen again, in case something else wrote to the terminal."""
        self._sent.forget()
        self.refresh(layout=True)


class _Pen:
    """Writes cells, with codes for a style only if it changes. At the end the style is reset."""

    def __init__(self, erases: bool) -> None:
        self._erases = erases
        self._parts: list[str] = []
        self._ink = _PLAIN

    @property
    def text(self) -> str:
        return "".join([*self._parts, _change(self._ink, _PLAIN)] if self._ink != _PLAIN else self._parts)

    def write(self, x: int, y: int, cells: Sequence[ScreenCell]) -> None:
        """Write cells; those behind odd ones are placed anew, wherever the terminal's cursor is then."""
        if "".join(map(_TEXT, cells)).isascii():
            self._move(x, y)
            self._put(cells)
            return
        for start, end in _runs(cells):
            run = cells[start:end]
            self._move(x + start, y)
            if any(map(_is_unsure, {*map(_TEXT, run)})):
                # If the terminal shows them in fewer cells, the others would keep what was there.
                self._put([(" ", ink) for _, ink in run])
                self._move(x + start, y)
            self._put(run)

    def _move(self, x: int, y: int) -> None:
        self._parts.append(f"\x1b[{y + 1};{x + 1}H")

    def _put(self, cells: Sequence[ScreenCell]) -> None:
        left = len(cells)
        for ink, same in groupby(cells, _INK):
            is_text = _shows_on_blanks(ink)
            for is_blank, part in groupby(map(_TEXT, same), " ".__eq__):
                texts = list(part)
                left -= len(texts)
                if is_text or not is_blank:
                    self._turn(ink)
                    self._parts += texts
                else:
                    self._put_blanks(len(texts), ink, is_last=not left)

    def _put_blanks(self, count: int, ink: Ink, *, is_last: bool) -> None:
        """Put blanks of which only the background is visible."""
        if self._erases and count > _FEWEST_ERASED:
            self._turn(ink)
            self._parts.append(f"\x1b[{count}X" if is_last else f"\x1b[{count}X\x1b[{count}C")
            return
        # Keep the other parts of the present ink.
        is_kept = not _shows_on_blanks(self._ink)
        self._turn(Ink(self._ink.attributes, self._ink.foreground, ink.background) if is_kept else ink)
        self._parts.append(" " * count)

    def _turn(self, ink: Ink) -> None:
        if ink != self._ink:
            self._parts.append(_change(self._ink, ink))
            self._ink = ink


def _runs(cells: Sequence[ScreenCell]) -> list[tuple[int, int]]:
    """The ranges (start, end) of cells that are odd, or not."""
    odd = [not text or _ODD.search(text) is not None for text, _ in cells]
    starts = [0, *(place for place in range(1, len(cells)) if odd[place] != odd[place - 1])]
    return [*zip(starts, [*starts[1:], len(cells)], strict=True)]


def _is_unsure(text: str) -> bool:
    """Whether terminals differ in how many cells they show it: emoji, and characters that are joined."""
    return len(text) > 1 or text > "\uffff"


def _shows_on_blanks(ink: Ink) -> bool:
    """Whether a blank in this ink shows more than its background: underline, strike or reverse."""
    return not _UNSEEN.issuperset(ink.attributes.split(";"))


def _change(old: Ink, new: Ink) -> str:
    """The codes from one ink to another: only the colours that differ, unless something must be reset."""
    link = link_code(new.link) if old.link != new.link else ""
    if old[:3] == new[:3]:
        return link
    pairs = [(old.foreground, new.foreground), (old.background, new.background)]
    if old.attributes == new.attributes and all(after or not before for before, after in pairs):
        codes = [after for before, after in pairs if before != after]
    else:
        codes = ["0", *filter(None, new[:3])]
    return f"{link}\x1b[{';'.join(codes)}m"


def _pieces(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """The line, column and strip of each piece of an update."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
        return
    for y, first, last in update.spans:
        for end, (x, piece) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            # A piece that begins at the end of the span is not part of it: only its background was painted.
            if piece is not None and x < last and end > first:
                yield y, x, piece


def _is_beyond(update: LayoutUpdate | ChopsUpdate, size: tuple[int, int]) -> bool:
    """Whether it is of the layout before the window shrank. Its lines would wrap; a whole update follows."""
    if isinstance(update, LayoutUpdate):
        width, height = update.region.right, update.region.bottom
    else:
        width, height = max((ends[-1] for ends in update.chop_ends), default=0), len(update.chop_ends)
    return width > size[0] or height > size[1]


def _changes(old: Sequence[ScreenCell | None], new: Sequence[ScreenCell | None]) -> list[tuple[int, int]]:
    """The ranges (start, end) in which two lines differ."""
    if old == new:
        return []
    if not any(old):
        return [(0, len(new))] if new else []
    spans: list[tuple[int, int]] = []
    for column, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after:
            continue
        if spans and column - spans[-1][1] <= _GAP:
            spans[-1] = (spans[-1][0], column + 1)
        else:
            spans.append((column, column + 1))
    return spans


def _cells_of(strip: Strip, system: ColorSystem | None, links: bool) -> list[ScreenCell]:
    cells: list[ScreenCell] = []
    for text, style, _ in strip:
        joined, own = _cells_of_text(text, style, system, links)
        if joined is not None:
            before = cells.pop()[0] if cells else ""
            cells.append((before + joined[0], joined[1]))
        cells += own
    return cells


# When rows scroll, nearly all texts are the same as before.
@lru_cache(maxsize=4096)
def _cells_of_text(
    text: str, style: Style | None, system: ColorSystem | None, links: bool
) -> tuple[ScreenCell | None, tuple[ScreenCell, ...]]:
    """The characters at the beginning that join the cell before, if any, and the cells of the others."""
    ink = _PLAIN
    if style is not None:
        link = style.link or ""
        ink = _ink_of(style.update_link(None) if link else style, system)
        ink = ink._replace(link=link if links else "")
    cell_of = _cells_in(ink).__getitem__
    if text.isascii():
        return None, tuple(map(cell_of, text))
    joined = ""
    cells: list[ScreenCell] = []
    for character, width in _characters(text):
        if width == 0 and cells:
            cells[-1] = (cells[-1][0] + character, ink)
        elif width == 0:
            joined += character
        else:
            cells += map(cell_of, (character, *[""] * (width - 1)))
    return (joined, ink) if joined else None, tuple(cells)


class _Cells(dict[str, ScreenCell]):
    """The cells of one ink by their characters. Equal cells are the same object: they compare fast."""

    def __init__(self, ink: Ink) -> None:
        super().__init__({" ": (" ", ink if _shows_on_blanks(ink) else Ink(background=ink.background))})
        self._ink = ink

    def __missing__(self, text: str) -> ScreenCell:
        cell = (text, self._ink)
        if len(text) <= 1:
            self[text] = cell
        return cell


@lru_cache(maxsize=256)
def _cells_in(ink: Ink) -> _Cells:
    return _Cells(ink)


def _characters(text: str) -> list[tuple[str, int]]:
    """The characters and their widths, together those that are joined into one, as some emoji are."""
    widths = [cell_len(character) for character in text]
    if sum(widths) == cell_len(text):
        return [*zip(text, widths, strict=True)]
    whole: list[tuple[str, int]] = []
    before = 0
    for end, (character, alone) in enumerate(zip(text, widths, strict=True), 1):
        width, before = cell_len(text[:end]) - before, cell_len(text[:end])
        if whole and width != alone:
            last, last_width = whole[-1]
            whole[-1] = (last + character, last_width + width)
        else:
            whole.append((character, width))
    return whole


@lru_cache(maxsize=4096)
def _ink_of(style: Style, system: ColorSystem | None) -> Ink:
    def codes(part: Style) -> str:
        cached = _CODES.match(part.render("x", color_system=system))
        return cached[1] if cached else ""

    return Ink(
        codes(style.without_color), codes(Style(color=style.color)), codes(Style(bgcolor=style.bgcolor))
    )
