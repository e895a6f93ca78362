"""Count savepoints, branches and tags for the tab titles."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from paimark.core.errors import Corrupt
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import CLAIM_PREFIX, SAVEPOINT_TAG_PREFIX
from paimark.core.table.lineage.lineage import numbered
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.read_tags import is_read_tag
from paimark.tui.named_keys import palette_key
from paimark.tui.session import Opened, Session, Target
from paimark.tui.tabs import Tab


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
