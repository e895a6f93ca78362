"""The row of a result under the cursor: its details, and its text to copy."""

from __future__ import annotations

from paimark.tui.formats import copied_cells, whole_text
from paimark.tui.query.query_result import QueryResult
from paimark.tui.theme import Line
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.record_grid import RecordGrid


def row_text(grid: RecordGrid) -> str | None:
    """The values of the row, separated by tabs; None if the cursor is on no row."""
    index = grid.index
    if index is None:
        return None
    return copied_cells(grid.source.row(index))


def narrowed(grid: RecordGrid, result: QueryResult) -> Line:
    """What filter and sorting do to the rows. On a low terminal only the status line shows it."""
    if result.is_cut and grid.order.done:
        return [(f"   {grid.order.done}: these rows only", "warn")]
    if not grid.order.filters:
        return []
    return [(f"   filtered: {grid.count:,} of them", "warn")]


def row_detail(grid: RecordGrid, result: QueryResult | None) -> Detail:
    """All fields in full, and the row and column of the cursor."""
    index, column = grid.index, grid.column
    if index is None or result is None or not len(result.rows):
        return Detail()
    values = tuple(result.rows.row(index))
    named = zip(result.names, values, strict=True)
    facts = tuple((name, "null" if value is None else whole_text(value)) for name, value in named)
    title = "" if column is None else f", column {grid.columns[column].title}"
    return Detail(f"row {index + 1}", facts, f"{grid.position}{title}", values=values)
