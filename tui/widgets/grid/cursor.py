"""Where a grid's cursor is: on a record, whatever becomes of the rows around it."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from tui.widgets.grid.view import View


class Cursor(msgspec.Struct, frozen=True):
    """`place` counts the rows shown; `held` is the key of the record there, None before there was one.

    `lost`: that record went away, and the cursor is between two rows, above the one that has its place.
    `to_end`: it goes to the last row, which is not read yet. Either way it is on no record.
    """

    place: int = 0
    held: Hashable = None
    lost: bool = False
    to_end: bool = False

    @property
    def on_record(self) -> bool:
        return not self.lost and not self.to_end

    def bar(self, place: int, *, has_focus: bool) -> str:
        """Says where the cursor is without colour, and by its thickness whether the keys go here."""
        if place != self.place:
            return " "
        if not self.on_record:
            return "·"
        return "▌" if has_focus else "▏"

    def moved(self, view: View, place: int) -> Cursor:
        """Put on a row (clamped) by a person."""
        place = max(0, min(place, len(view) - 1))
        return Cursor(place, view.key(place) if len(view) else None)

    def stepped(self, view: View, rows: int) -> Cursor:
        return self.moved(view, self.place + (rows - 1 if self.lost and rows > 0 else rows))

    def followed(self, view: View, *, complete: bool, asked: bool) -> Cursor:
        """In other rows, or in another order.

        `complete` says that no more rows are on their way; `asked`, that a person chose these rows, and takes
        the first where the record is not among them.
        """
        if self.to_end:
            last = self.moved(view, len(view) - 1)
            return last if complete else msgspec.structs.replace(last, to_end=True)
        if self.held is None:
            return self.moved(view, 0)
        place = view.place(self.held)
        if place is not None:
            return Cursor(place, self.held)
        if not len(view) and view.source.find(self.held) is not None:
            # No row matches: it is there again when the filter goes.
            return Cursor(0, self.held)
        if asked:
            return self.moved(view, 0)
        return Cursor(min(self.place, len(view)), self.held, lost=True)
