"""The line at the top and the counts beside the tabs' titles, read again every few seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace
from textual.app import App

from paimark.core.errors import Corrupt, NotFound, PaimarkError
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import CLAIM_PREFIX, SAVEPOINT_TAG_PREFIX, numbered
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.read_tags import is_read_tag
from paimark.tui.messages import Say
from paimark.tui.named_keys import palette_key
from paimark.tui.screens.open_tabs import OpenTabs
from paimark.tui.session import Opened, Session, Target
from paimark.tui.tabs import Tab
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
        """Show the state of Spark and the number of background jobs."""
        word, jobs = _ENGINE_WORDS.get(self._session.room.state, ""), self._session.jobs.in_background
        self._breadcrumb.go(replace(self._breadcrumb.location, engine=word, jobs=jobs))


class TabCounts(msgspec.Struct, frozen=True):
    """The counts, the root that they were read from, and a sentence about an interrupted change."""

    opened: Opened
    counts: Mapping[Tab, int]
    interrupted: str = ""


def count_tabs(session: Session, target: Target) -> TabCounts:
    """Two reads and three listings, for a thread. Raises `NotFound`, `Corrupt`, `Unavailable`.

    It counts the savepoints that have a tag: the few without one are counted when their tab is opened. Tags
    of reads are not counted: nobody made them, and they come and go with statements.
    """
    opened = session.open(target)
    tags = [name for name in opened.lineage.tag_names() if not is_read_tag(name)]
    savepoints = numbered(tags, SAVEPOINT_TAG_PREFIX)
    branches = {*branch_names(session.files, target.table), opened.main}
    counts = {Tab.SAVEPOINTS: len(savepoints), Tab.BRANCHES: len(branches), Tab.TAGS: len(tags)}
    return TabCounts(opened, counts, _interrupted(session, target))


def _interrupted(session: Session, target: Target) -> str:
    """A sentence about a change, or the creation of a savepoint, whose process is gone; else empty."""
    files, table = session.files, target.table
    journal = read_if_there(files, table.journal)
    claims = numbered(files.names(table.savepoints), CLAIM_PREFIX)
    if journal is None and not claims:
        return ""
    # These modules are slow to import, and few tables have a journal or a claim.
    from paimark.core.actions.change.journal import current
    from paimark.core.actions.change.owner import standing
    from paimark.core.actions.roots.savepoint_claim import read_claim

    context = session.context
    try:
        lock = current(context, table)
        if lock is not None and lock.standing(context) == "gone":
            return f"{lock.journal.action} of {table.full_name} was interrupted: {_who_mends(session)}"
        for claim in (read_claim(context, table, number) for number in claims):
            if claim is not None and standing(context, claim.owner, claim.token) == "gone":
                return f"savepoint {claim.id} of {table.full_name} was interrupted: {_who_mends(session)}"
    except Corrupt as error:
        return error.message
    return ""


def _who_mends(session: Session) -> str:
    if session.read_only:
        return "`recover` is for who may write"
    return f"`{palette_key()}` recover mends it"
