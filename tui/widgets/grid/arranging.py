"""Filter and sort the rows of a grid: few rows at once, many rows in a thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from textual.app import App

from paimark.core.errors import PaimarkError
from paimark.tui.records.sources import GridColumn, RowSource
from paimark.tui.widgets.grid.row_order import SortOrder, arrange
from paimark.tui.widgets.grid.view import View
from paimark.tui.work.background import Slot, ThreadReport

if TYPE_CHECKING:
    from paimark.tui.widgets.grid.filters import RowFilter


# Up to this many rows are filtered and sorted at once.
AT_ONCE = 2000


class Arranging:
    """Runs one request at a time: a newer one replaces it. `done` gets the rows, `failed` a sentence.

    `refusal` is the reason why the filter is invalid, and a hint: then no rows are shown, rather than rows
    that do not match.
    """

    def __init__(self, done: Callable[[View], None], failed: Callable[[str], None]) -> None:
        self.refusal: tuple[str, str] | None = None
        self._done = done
        self._failed = failed
        self._slot: Slot[View] | None = None

    @property
    def busy(self) -> bool:
        return self._slot is not None and self._slot.busy

    def drop(self) -> None:
        if self._slot is not None:
            self._slot.drop()

    def ask(
        self,
        app: Callable[[], App[Any]],
        source: RowSource,
        columns: Sequence[GridColumn],
        order: SortOrder,
        now_ms: int,
        *,
        only_words: bool,
    ) -> None:
        """`app` is called only if a thread is needed: a grid can get rows before it has an app."""
        self.refusal = None
        if order.natural:
            # The first frame should not import the filters.
            self.drop()
            self._done(View(source))
            return
        rows = self._read(order.text, columns, source, now_ms, only_words=only_words)
        if rows is None or len(source) <= AT_ONCE:
            self.drop()
            chosen = array("l") if rows is None else arrange(source, columns, rows, order, now_ms)
            self._done(View(source, chosen))
            return

        def work(report: ThreadReport[View]) -> None:
            report(View(source, arrange(source, columns, rows, order, now_ms, lambda: report.wanted)))

        if self._slot is None:
            self._slot = Slot(app(), "order", self._done, lambda error: self._failed(error.message))
        self._slot.ask(work)

    def _read(
        self,
        text: str,
        columns: Sequence[GridColumn],
        source: RowSource,
        now_ms: int,
        *,
        only_words: bool,
    ) -> RowFilter | None:
        from paimark.tui.widgets.grid.filters import plain_words, read_filter

        if only_words:
            return plain_words(text)
        try:
            return read_filter(text, columns, source, now_ms)
        except PaimarkError as error:
            self.refusal = (error.message, error.hint)
            return None


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
