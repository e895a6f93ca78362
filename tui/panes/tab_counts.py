"""What lies around a table before its tabs are opened: the root in view, and how many there are of what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.table.layout import SAVEPOINT_TAG_PREFIX
from core.table.lineage.lineage import numbered
from core.table.lineage.main_branch import branch_names
from tui.panes.pane import TABS
from tui.session import Opened, Session, Target

SAVEPOINTS, BRANCHES, TAGS = (TABS.index(name) for name in ("Savepoints", "Branches", "Tags"))


@dataclass(frozen=True, slots=True)
class Around:
    """`counts` are by tab."""

    opened: Opened
    counts: Mapping[int, int]


def look_around(session: Session, target: Target) -> Around:
    """One read and two listings, for a thread. Raises `NotFound`, `Corrupt`, `Unavailable`.

    Savepoints are those with a tag: the few that lost theirs are counted when their tab is opened.
    """
    opened = session.open(target)
    table = target.table
    tags = opened.lineage.tag_names()
    saved = numbered(tags, SAVEPOINT_TAG_PREFIX)
    branches = {*branch_names(session.files, table), opened.main}
    counts = {SAVEPOINTS: len(saved), BRANCHES: len(branches), TAGS: len(tags)}
    return Around(opened, counts)
