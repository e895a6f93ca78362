"""Count savepoints, branches and tags for the tab titles."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.storage.files import read_if_there
from core.table.layout import SAVEPOINT_TAG_PREFIX
from core.table.lineage.lineage import numbered
from core.table.lineage.main_branch import branch_names
from tui.session import Opened, Session, Target
from tui.tabs import Tab


class TabCounts(msgspec.Struct, frozen=True):
    """The counts, the root that they were read from, and a sentence on a change that died half-way."""

    opened: Opened
    counts: Mapping[Tab, int]
    interrupted: str = ""


def count_tabs(session: Session, target: Target) -> TabCounts:
    """Two reads and two listings, for a thread. Raises `NotFound`, `Corrupt`, `Unavailable`.

    Savepoints are those with a tag: the few that lost theirs are counted when their tab is opened.
    """
    opened = session.open(target)
    tags = opened.lineage.tag_names()
    savepoints = numbered(tags, SAVEPOINT_TAG_PREFIX)
    branches = {*branch_names(session.files, target.table), opened.main}
    counts = {Tab.SAVEPOINTS: len(savepoints), Tab.BRANCHES: len(branches), Tab.TAGS: len(tags)}
    return TabCounts(opened, counts, _interrupted(session, target))


def _interrupted(session: Session, target: Target) -> str:
    if read_if_there(session.files, target.table.journal) is None:
        return ""
    # What reads it takes a while to load, and few tables have one.
    from core.actions.change.journal import current

    held = current(session.context, target.table)
    if held is None or held.standing(session.context) != "gone":
        return ""
    return f"{held.journal.action} of {target.table.full_name} was interrupted"
