"""The columns of the conflicts, as wide as base, main and branch still fit side by side; a key's record."""

from __future__ import annotations

from paimark.core.actions.merge.conflicts import LINE_COLUMNS, NO_ROW, Conflict
from paimark.tui.dialogs.conflicts.choosing import Choosing
from paimark.tui.records.sources import GridColumn
from paimark.tui.widgets.detail_strip import Detail
from paimark.tui.widgets.grid.paint import GAP, GUTTER, measure

_WIDEST = 32
# If the three have less room than this, long keys are cut; they themselves never get less than `_LEAST`.
_ENOUGH, _LEAST = 24, 10
_NARROW_NAME = 14


def conflict_columns(choosing: Choosing, width: int) -> list[GridColumn]:
    """The key, the column and what is taken; then the sides, in equal shares of the rest of `width` cells."""
    room = _room(choosing, width, _WIDEST)
    if room >= _ENOUGH:
        return _columns(choosing, _WIDEST, min(room, _WIDEST))
    return _columns(choosing, _NARROW_NAME, max(_LEAST, min(_room(choosing, width, _NARROW_NAME), _WIDEST)))


def conflict_detail(conflict: Conflict) -> Detail:
    """All values of a key in conflict."""
    values = tuple(NO_ROW if value is None else value for _, value in conflict.named)
    return Detail(f"key {conflict.key_text}", tuple(conflict.facts), values=values)


def _columns(choosing: Choosing, most_of_names: int, most_of_sides: int) -> list[GridColumn]:
    first, *sides = LINE_COLUMNS
    names = [GridColumn(name, most=most_of_names) for name in (*choosing.header.keys, first, "taken")]
    return [*names, *(GridColumn(name, most=most_of_sides) for name in sides)]


def _room(choosing: Choosing, width: int, most_of_names: int) -> int:
    """The cells that are left for each of the sides."""
    widths = measure(_columns(choosing, most_of_names, _WIDEST), choosing, 0)
    sides = len(LINE_COLUMNS) - 1
    gaps = len(GAP) * (len(widths) - 1)
    return (width - GUTTER - gaps - sum(widths[:-sides])) // sides
