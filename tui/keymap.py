"""Keys that more than one part of the console has, each with an id under which it can be bound anew."""

from __future__ import annotations

from textual.binding import Binding, BindingType

GRID: list[BindingType] = [
    Binding("up,k", "move(-1)", "up", show=False, id="grid.up"),
    Binding("down,j", "move(1)", "down", show=False, id="grid.down"),
    Binding("pageup", "page(-1)", "page up", show=False, id="grid.page_up"),
    Binding("pagedown", "page(1)", "page down", show=False, id="grid.page_down"),
    Binding("ctrl+u", "half_page(-1)", "half a page up", show=False, id="grid.half_up"),
    Binding("ctrl+d", "half_page(1)", "half a page down", show=False, id="grid.half_down"),
    Binding("home,g", "first", "first row", show=False, id="grid.first"),
    Binding("end,G", "last", "last row", show=False, id="grid.last"),
    Binding("left,h", "columns(-1)", "columns left, then the tables", show=False, id="grid.left"),
    Binding("right,l", "columns(1)", "columns right", show=False, id="grid.right"),
    Binding("/", "filter", "filter", tooltip="filter; !words for rows without them", id="grid.filter"),
    Binding("o", "sort", "sort", tooltip="sort by the next column", id="grid.sort"),
    Binding("O", "reverse", "sort the other way", show=False, id="grid.reverse"),
]
