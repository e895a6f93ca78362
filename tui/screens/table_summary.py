"""The line at the top and the counts beside the tabs' titles, read anew every few seconds."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from textual.app import App

from core.errors import NotFound, PaimarkError
from tui.messages import Say
from tui.panes.tab_counts import TabCounts, count_tabs
from tui.screens.next_query import NextQuery
from tui.screens.open_tabs import OpenTabs
from tui.session import Opened, Session
from tui.widgets.breadcrumb import Breadcrumb
from tui.work.background import Slot

_ENGINE_WORDS = {
    "starting": "Spark starts",
    "ready": "Spark ready",
    "running": "Spark busy",
    "resting": "Spark rests",
    "failed": "Spark failed",
}


class TableSummary:
    """Shows the table that `tabs` show, and how busy Spark is."""

    def __init__(
        self, app: App[Any], session: Session, tabs: OpenTabs, breadcrumb: Breadcrumb, say: Say
    ) -> None:
        self._session = session
        self._tabs = tabs
        self._breadcrumb = breadcrumb
        self._reading: Slot[TabCounts] = Slot(app, "counts", self._take, self._not_counted)
        # Of a change that died: once a table.
        self._told = ""
        self._say = say
        self._next_query = NextQuery(session.room, tabs)

    def show_target(self, main: str = "", branch: str = "") -> None:
        """Name the table in view, as far as it is known without reading."""
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
        if interrupted and interrupted != self._told:
            self._say(interrupted, "warn")
        self._told = interrupted

    def _not_counted(self, error: PaimarkError) -> None:
        """Where there is no such table any more, nothing that was known of it is so still."""
        if isinstance(error, NotFound):
            self._tabs.forget_counts()
            self.show_target()
            self._breadcrumb.go(replace(self._breadcrumb.location, is_interrupted=False))

    def show_engine(self) -> None:
        """Say what Spark does, and how much runs that nobody watches; tell it what may come next."""
        self._next_query.tell()
        word, jobs = _ENGINE_WORDS.get(self._session.room.state, ""), self._session.jobs.in_background
        self._breadcrumb.go(replace(self._breadcrumb.location, engine=word, jobs=jobs))
