"""Save and restore a person's settings of a grid: the column layout and the sorting, by column name."""

from __future__ import annotations

from paimark.tui.memory import GridLook
from paimark.tui.widgets.grid.columns import ColumnLayout
from paimark.tui.widgets.grid.record_grid import RecordGrid


def look_of(grid: RecordGrid) -> GridLook:
    layout, order, names = grid.shown_columns.layout, grid.order, grid.shown_columns.names
    return GridLook(
        layout.order,
        tuple(sorted(layout.hidden)),
        dict(layout.widths),
        "" if order.column is None else names[order.column],
        order.descending,
    )


def put_look(grid: RecordGrid, look: GridLook) -> None:
    """Restore the settings; columns that no longer exist are ignored."""
    grid.lay_out(ColumnLayout(look.order, frozenset(look.hidden), look.widths))
    names = grid.shown_columns.names
    if look.sort and look.sort in names:
        grid.sort_by(names.index(look.sort), descending=look.descending)
