"""A grid's rows filtered and put in order: few of them at once, many in a thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

from core.errors import PaimarkError
from tui.records.sources import GridColumn, RowSource
from tui.widgets.grid.row_order import SortOrder, arrange
from tui.widgets.grid.view import View
from tui.work.background import Slot, ThreadReport

if TYPE_CHECKING:
    from tui.widgets.grid.filters import RowFilter

# Fewer rows than this are put in order at once.
AT_ONCE = 2000


class Arranging:
    """One order at a time: the newest wins. `done` gets the rows, `failed` a sentence.

    `refusal` is why the filter can't be obeyed, and what to write: no rows are shown then, rather than some
    that nobody asked for.
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
        """`app` is asked for when a thread is needed: rows are given before there is one, too."""
        self.refusal = None
        if order.natural:
            # The first frame needs nothing of filters.
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
        from tui.widgets.grid.filters import plain_words, read_filter

        if only_words:
            return plain_words(text)
        try:
            return read_filter(text, columns, source, now_ms)
        except PaimarkError as error:
            self.refusal = (error.message, error.hint)
            return None
