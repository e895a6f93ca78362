"""Paint a grid's lines as strips. Without Textual state, so that it can be measured and tested alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from paimark.core.text import ELLIPSIS, Fitted, clean_text, cut, fit, width_of, wrap
from paimark.tui.formats import format_value
from paimark.tui.records.sources import GridColumn, InkText, RowSource
from paimark.tui.terminal.cells import link_in
from paimark.tui.theme import Line

GAP = "  "
GUTTER = 2
# The number of rows that are measured for the widths; fewer if there are many columns, to limit the cost.
_SAMPLED = 200
_SAMPLED_CELLS = 6000
# A longer title is cut in its middle, unless the values make the column wider.
_LONGEST_TITLE = 22


def cell_text(column: GridColumn, value: object, now_ms: int) -> str:
    """The text of a cell; a missing value has the text that the column defines for it."""
    return column.nothing if value is None else format_value(column.kind, value, now_ms)


def measure(columns: Sequence[GridColumn], source: RowSource, now_ms: int) -> list[int]:
    """The width of each column, measured from its title and from the first and last rows."""
    widths = [min(_LONGEST_TITLE, width_of(column.title)) for column in columns]
    count = len(source)
    most = min(_SAMPLED, _SAMPLED_CELLS // max(1, len(columns)))
    sample = [*range(min(count, most)), *range(max(most, count - most // 4), count)]
    for index in sample:
        for place, value in enumerate(source.row(index)):
            column = columns[place]
            text = cell_text(column, value, now_ms)
            if len(text) > widths[place] or not text.isascii():
                widths[place] = max(widths[place], min(width_of(text), column.most))
    return widths


def visible_columns(widths: Sequence[int], pinned: int, first: int, room: int) -> list[tuple[int, int]]:
    """The (column, width) pairs that fit in `room` cells; `first` is the leftmost column that scrolls.

    The last one is cut if less than its width is left. The pinned columns leave half of the room to the
    others.
    """
    shown: list[tuple[int, int]] = []
    used = 0
    pinned = min(pinned, len(widths))
    most = room // 2 // pinned if pinned and len(widths) > pinned else room
    for column in chain(range(pinned), range(max(first, pinned), len(widths))):
        gap = len(GAP) if shown else 0
        left = room - used - gap
        if left < min(widths[column], 4):
            break
        width = min(widths[column], left, most if column < pinned else room)
        shown.append((column, width))
        used += gap + width
    return shown


def paint_row(
    values: Sequence[object],
    columns: Sequence[GridColumn],
    shown: Sequence[tuple[int, int]],
    *,
    gutter: str,
    styles: Mapping[str, Style],
    width: int,
    now_ms: int,
    cell: int | None = None,
) -> Strip:
    """Paint a row. Neighbours of one style share a segment: fewer bytes over a slow line.

    `styles` are those of `inks_over` the row's own; `cell` is the index of the column whose cell is
    highlighted.
    """
    segments: list[Segment] = []
    base = styles[""]
    # Over a reversed row colours would turn into patches.
    is_reversed, last = base.reverse, len(shown) - 1
    run, run_style, used = gutter, base if is_reversed else styles["accent"], GUTTER
    for number, (place, cell_width) in enumerate(shown):
        column, value = columns[place], values[place]
        if number == last and not column.right:
            cell_width = width - used
        text = value.fitted(cell_width) if isinstance(value, Fitted) else cell_text(column, value, now_ms)
        text = fit(text, cell_width, right=column.right, middle=column.middle)
        own = value.ink if isinstance(value, InkText) else column.style
        ink = "" if is_reversed else "quiet" if value is None else own
        style = styles["cell" if place == cell else ink]
        if address := link_in(value):
            style += Style(link=address)
        if style is run_style:
            run += text
        else:
            segments.append(Segment(run, run_style))
            run, run_style = text, style
        used += cell_width
        if number != last and style.link:
            segments.append(Segment(run, run_style))
            run, run_style = "", base
        if number != last:
            run += GAP
            used += len(GAP)
    segments.append(Segment(run, run_style))
    if used < width:
        segments.append(Segment(" " * (width - used), base))
    return Strip(segments, max(width, used))


def paint_head(
    columns: Sequence[GridColumn],
    shown: Sequence[tuple[int, int]],
    *,
    sorted_by: int | None,
    descending: bool,
    more: tuple[bool, bool],
    style: Style,
    width: int,
    cell: int | None = None,
) -> Strip:
    """Paint the titles, an arrow before the sorted one, and marks if there are `more` to the left and right.

    `cell` is the index of the column whose title is highlighted.
    """
    arrow = "▼" if descending else "▲"
    text = ("‹" if more[0] else " ").ljust(GUTTER)
    chosen = slice(0, 0)
    for number, (place, cell_width) in enumerate(shown):
        column = columns[place]
        title = clean_text(column.title)
        text += GAP if number else ""
        if place == sorted_by and column.right and width_of(title) < cell_width:
            title = arrow + title
        elif place == sorted_by:
            text = text[:-1] + arrow
        start = len(text)
        text += fit(title, cell_width, right=column.right, middle=True)
        chosen = slice(start, len(text)) if place == cell else chosen
    text = set_cell_size(text, width - 1) + ("›" if more[1] else " ")
    if chosen.stop == chosen.start:
        return Strip([Segment(text, style)], width)
    marked = style + Style(bold=True, reverse=True)
    parts = (
        (text[: chosen.start], style),
        (text[chosen], marked),
        (text[chosen.stop :], style),
    )
    return Strip([Segment(*part) for part in parts if part[0]], width)


def note_lines(message: str, hint: str, width: int, height: int) -> list[Line]:
    """The reason why there are no rows, and a hint, wrapped and indented like rows.

    Of a reason that leaves no room for the hint, the end is cut: it is in the log, and may be a long path.
    """
    room = max(10, width - 2 * GUTTER)
    said = wrap(clean_text(message), room) if message else []
    then = wrap(clean_text(hint), room) if hint else []
    if len(said) > (most := max(1, height - len(then))):
        said = [*said[: most - 1], cut(said[most - 1] + ELLIPSIS, room)]
    lines = [*((line, "") for line in said), *((line, "quiet") for line in then)]
    return [[(" " * GUTTER, ""), line] for line in lines]
