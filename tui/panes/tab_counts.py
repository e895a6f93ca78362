"""Count savepoints, branches and tags for the tab titles."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.table.layout import SAVEPOINT_TAG_PREFIX
from core.table.lineage.lineage import numbered
from core.table.lineage.main_branch import branch_names
from tui.session import Opened, Session, Target
from tui.tabs import Tab


class TabCounts(msgspec.Struct, frozen=True):
    """The counts, and the root that they were read from."""

    opened: Opened
    counts: Mapping[Tab, int]


def count_tabs(session: Session, target: Target) -> TabCounts:
    """One read and two listings, for a thread. Raises `NotFound`, `Corrupt`, `Unavailable`.

    Savepoints are those with a tag: the few that lost theirs are counted when their tab is opened.
    """
    opened = session.open(target)
    tags = opened.lineage.tag_names()
    savepoints = numbered(tags, SAVEPOINT_TAG_PREFIX)
    branches = {*branch_names(session.files, target.table), opened.main}
    return TabCounts(
        opened, {Tab.SAVEPOINTS: len(savepoints), Tab.BRANCHES: len(branches), Tab.TAGS: len(tags)}
    )
