"""Keys that several parts of the console share, each with an id by which it can be rebound."""

from __future__ import annotations

from textual.binding import Binding, BindingType


def hidden(id_: str, keys: str, action: str, description: str, tooltip: str = "") -> Binding:
    """A key that only `?` lists."""
    return Binding(keys, action, description, tooltip=tooltip, show=False, id=id_)


def steps(part: str, action: str, *, up: str = "up", down: str = "down") -> list[BindingType]:
    """Keys of an `action` that takes a number of lines: one, or a page of ten."""
    return [
        hidden(f"{part}.up", up, f"{action}(-1)", "up"),
        hidden(f"{part}.down", down, f"{action}(1)", "down"),
        hidden(f"{part}.page_up", "pageup", f"{action}(-10)", "page up"),
        hidden(f"{part}.page_down", "pagedown", f"{action}(10)", "page down"),
    ]


# Keys of the application that every dialog has, too: a dialog hides the application's own bindings.
ANYWHERE: list[BindingType] = [
    hidden("app.mouse", "M", "app.mouse", "mouse", "switch the mouse on or off: off, the terminal selects"),
    hidden("app.suspend", "ctrl+z", "app.suspend", "back to the shell, except in a query; fg comes back"),
    hidden("app.redraw", "ctrl+l", "app.redraw", "draw the screen again"),
]

GRID: list[BindingType] = [
    hidden("grid.up", "up,k", "move(-1)", "up"),
    hidden("grid.down", "down,j", "move(1)", "down"),
    hidden("grid.page_up", "pageup", "page(-1)", "page up"),
    hidden("grid.page_down", "pagedown", "page(1)", "page down"),
    hidden("grid.half_up", "ctrl+u", "half_page(-1)", "half a page up"),
    hidden("grid.half_down", "ctrl+d", "half_page(1)", "half a page down"),
    hidden("grid.first", "home,g", "first", "first row"),
    hidden("grid.last", "end,G", "last", "last row"),
    hidden("grid.left", "left,h", "columns(-1)", "columns left, then the tables"),
    hidden("grid.right", "right,l", "columns(1)", "columns right"),
    Binding(
        "/",
        "filter",
        "filter",
        tooltip="filter: words, price>10, name=x, name~part; ! in front: rows without",
        id="grid.filter",
    ),
    Binding(
        "c",
        "choose_columns",
        "columns",
        tooltip="go to a column by name; hide, move, widen or sort by it",
        id="grid.columns",
    ),
    hidden("grid.whole_column", "w", "whole_column", "the column as wide as its values, or as before"),
    Binding(
        "o", "sort", "sort", tooltip="sort by the next column, or by the one under the cursor", id="grid.sort"
    ),
    hidden("grid.reverse", "O", "reverse", "sort the other way"),
]
