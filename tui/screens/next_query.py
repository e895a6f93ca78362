"""Guess the next query: the engine prepares its table while it has nothing else to do."""

from __future__ import annotations

from paimark.core.actions.declared.row import RowVersion
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.query.statements import select_all
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.work.engine_room import EngineRoom

# In characters: the search for the statement at the caret is slow in a longer text.
_LONG = 4_000


class NextQuery:
    """`tell` is called repeatedly. It tells the engine a query only if the guess was the same twice, so that
    typing, and keys that are held down, cause nothing."""

    def __init__(self, room: EngineRoom, tabs: OpenTabs) -> None:
        self._room = room
        self._tabs = tabs
        self._last = self._prefetched = ""

    def tell(self) -> None:
        before, self._last = self._last, self._likely()
        if (
            self._last
            and self._last == before != self._prefetched
            and self._room.state in ("starting", "ready")
        ):
            self._prefetched = before
            self._room.prefetch(before)

    def _likely(self) -> str:
        """The statement in the query pane; else the one that Enter would prepare for the present row."""
        target, pane = self._tabs.target, self._tabs.pane
        if target is None:
            return ""
        if isinstance(pane, RecordPane):
            version = pane.current_version if pane.is_of(target) else None
            return select_all(target, version or RowVersion())
        # By its attributes: importing the pane would delay the first frame.
        editor = getattr(pane, "editor", None)
        return str(editor.statement[0]) if editor is not None and len(editor.text) < _LONG else ""
