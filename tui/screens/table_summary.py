"""The line at the top and the counts beside the tabs' titles, read again every few seconds."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from textual.app import App

from paimark.core.errors import NotFound, PaimarkError
from paimark.tui.messages import Say
from paimark.tui.panes.tab_counts import TabCounts, count_tabs
from paimark.tui.screens.next_query import NextQuery
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Opened, Session
from paimark.tui.widgets.breadcrumb import Breadcrumb
from paimark.tui.work.background import Slot

_ENGINE_WORDS = {
    "starting": "Spark starts",
    "ready": "Spark ready",
    "running": "Spark busy",
    "resting": "Spark rests",
    "failed": "Spark failed",
}


class TableSummary:
    """Shows the table of `tabs`, and the state of Spark."""

    def __init__(
        self, app: App[Any], session: Session, tabs: OpenTabs, breadcrumb: Breadcrumb, say: Say
    ) -> None:
        self._session = session
        self._tabs = tabs
        self._breadcrumb = breadcrumb
        self._reading: Slot[TabCounts] = Slot(app, "counts", self._take, self._not_counted)
        # The last warning about an interrupted change, so that it is shown only once.
        self._warned_of = ""
        self._say = say
        self._next_query = NextQuery(session.room, tabs)

    def show_target(self, main: str = "", branch: str = "") -> None:
        """Show the name of the table, without reading anything."""
        target, location = self._tabs.target, self._breadcrumb.location
        if target is not None:
            is_same = (location.database, location.table) == (target.table.database, target.table.name)
            self._breadcrumb.go(
                replace(
                    location,
                    is_interrupted=location.is_interrupted and is_same,
                    database=target.table.database,
                    table=target.table.name,
                    branch=target.branch or branch,
                    main=main,
                )
            )

    def show_opened(self, opened: Opened) -> None:
        self.show_target(opened.main, opened.root.label)

    def read(self) -> None:
        target = self._tabs.target
        if target is not None:
            self._reading.ask(lambda report: report(count_tabs(self._session, target)))

    def follow(self) -> None:
        """Read again, unless an earlier reading still runs."""
        if not self._reading.busy:
            self.read()

    def _take(self, counted: TabCounts) -> None:
        self.show_opened(counted.opened)
        self._tabs.show_counts(counted.counts)
        interrupted = counted.interrupted
        self._breadcrumb.go(replace(self._breadcrumb.location, is_interrupted=bool(interrupted)))
        if interrupted and interrupted != self._warned_of:
            self._say(interrupted, "warn")
        self._warned_of = interrupted

    def _not_counted(self, error: PaimarkError) -> None:
        """If the table does not exist any more, remove all that is shown about it."""
        if isinstance(error, NotFound):
            self._tabs.forget_counts()
            self.show_target()
            self._breadcrumb.go(replace(self._breadcrumb.location, is_interrupted=False))

    def show_engine(self) -> None:
        """Show the state of Spark and the number of background jobs; tell Spark the likely next query."""
        self._next_query.tell()
        word, jobs = _ENGINE_WORDS.get(self._session.room.state, ""), self._session.jobs.in_background
        self._breadcrumb.go(replace(self._breadcrumb.location, engine=word, jobs=jobs))
