"""A grid's cursor. It stays on its record when other rows come, go or are sorted."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from paimark.tui.widgets.grid.view import View


class Cursor(msgspec.Struct, frozen=True):
    """`place` is the position among the shown rows; `key` is the key of the record there, None at first.

    `lost`: that record is gone, and the cursor is between two rows, above the one at its old position.
    `to_end`: the cursor goes to the last row, which is not read yet. In both states it is on no record.
    """

    place: int = 0
    key: Hashable = None
    lost: bool = False
    to_end: bool = False

    @property
    def on_record(self) -> bool:
        return not self.lost and not self.to_end

    def bar(self, place: int, *, has_focus: bool) -> str:
        """The sign before a row: it shows the cursor without colour, and by its thickness the focus."""
        if place != self.place:
            return " "
        if not self.on_record:
            return "·"
        return "▌" if has_focus else "▏"

    def moved(self, view: View, place: int) -> Cursor:
        """The cursor after a person moved it to a row (clamped)."""
        place = max(0, min(place, len(view) - 1))
        return Cursor(place, view.key(place) if len(view) else None)

    def stepped(self, view: View, rows: int) -> Cursor:
        return self.moved(view, self.place + (rows - 1 if self.lost and rows > 0 else rows))

    def followed(self, view: View, *, complete: bool, reordered: bool) -> Cursor:
        """The cursor in other rows, or in another order.

        `complete` says that all rows are read; `reordered`, that a person filtered or sorted: the cursor
        goes to the first row then, if its record is not among the rows.
        """
        if self.to_end:
            last = self.moved(view, len(view) - 1)
            return last if complete else msgspec.structs.replace(last, to_end=True)
        if self.key is None:
            return self.moved(view, 0)
        place = view.place(self.key)
        if place is not None:
            # Not always the key from before: the record may be on another branch now.
            return Cursor(place, view.key(place))
        if not len(view) and view.source.find(self.key) is not None:
            # No row matches the filter: the cursor finds its record again when the filter is removed.
            return Cursor(0, self.key)
        if reordered:
            return self.moved(view, 0)
        return Cursor(min(self.place, len(view)), self.key, lost=True)
