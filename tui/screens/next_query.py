"""Which query is likely to come next: the engine makes its table ready while nobody asks it anything."""

from __future__ import annotations

from tui.panes.record_pane import RecordPane
from tui.query.statements import select_all
from tui.screens.open_tabs import OpenTabs
from tui.session import RowVersion
from tui.work.engine_room import EngineRoom

# Looking for the statement at the caret takes a while in a longer text.
_LONG = 4_000


class NextQuery:
    """`tell` is called again and again: a query counts once it was the same twice, so that keys held down,
    and typing, tell nothing."""

    def __init__(self, room: EngineRoom, tabs: OpenTabs) -> None:
        self._room = room
        self._tabs = tabs
        self._seen = self._told = ""

    def tell(self) -> None:
        seen, self._seen = self._seen, self._likely()
        if self._seen and self._seen == seen != self._told and self._room.state in ("starting", "ready"):
            self._told = seen
            self._room.prefetch(seen)

    def _likely(self) -> str:
        """The text in the query pane; else what Enter would put there for the row under the cursor."""
        target, pane = self._tabs.target, self._tabs.pane
        if target is None:
            return ""
        if isinstance(pane, RecordPane):
            version = pane.current_version if pane.is_of(target) else None
            return select_all(target, version or RowVersion())
        # By what it has: importing it would cost the first frame.
        editor = getattr(pane, "editor", None)
        return str(editor.statement[0]) if editor is not None and len(editor.text) < _LONG else ""
