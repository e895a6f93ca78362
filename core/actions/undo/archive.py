"""The archive of a replacement that is taken back: it goes, because main has all of it again.

Jobs that had it open do not know. So it is marked and closed before any of it goes, like a branch that is
deleted. If a commit or a tag came to it until then, it stays.
"""

from __future__ import annotations

import msgspec

from paimark.core.actions.branches.going import (
    Agreed,
    Late,
    came_since,
    keep_only,
    last_look,
    mark,
    still_goes,
    unmarked,
)
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Progress
from paimark.core.actions.plan import Item
from paimark.core.actions.replace.point_main import part
from paimark.core.actions.roots.root_files import (
    SCHEMAS,
    SNAPSHOTS,
    copy_files,
    part_of,
    remove_root,
    root_files,
)
from paimark.core.actions.savepoints.unprotected import protect_without
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import SCHEMA_PREFIX, SNAPSHOT_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.records import Snapshot

GOES = "the archive goes"
STAYS = "the archive stays"
# Main is open to other engines again.
RESTORED = "took the guards out of the table directory"


class Stays(msgspec.Struct, frozen=True):
    """Why the archive stays: `late` is what came to it, and `commits` counts the commits of that.

    `was_going`: it was found so late that some of the archive may be removed already.
    """

    late: str
    commits: int
    was_going: bool = False

    def said(self, archive: Root) -> str:
        return f"branch {archive.label} stays, for it got what main has not: {self.late}"

    def item(self, archive: Root) -> Item:
        """What stays, and what is to be done about it."""
        branch = f"{archive.table.word} --name {archive.label}"
        goes = f"`paimark delete-branch {branch}` deletes the branch"
        todo = f"`paimark merge-branch {branch}` brings it to main, then {goes}" if self.commits else goes
        text = f"{self.said(archive)}. {todo}"
        return Item("not", text, "archive-stays", is_grave=True, count=self.commits, unit="commits")


def why_it_stays(hold: Hold, archive: Root, agreed: Agreed) -> Stays | None:
    """What is known by now of why it stays. Reads only; `agreed` is what the archive had, as main has."""
    noted = hold.journaled.noted(STAYS, Stays)
    if noted is not None:
        return noted
    late = came_since(hold.context.files, archive, agreed)
    return Stays(str(late), len(late.commits)) if late else None


def keep_if_late(hold: Hold, archive: Root, agreed: Agreed, progress: Progress) -> Stays | None:
    """Close the archive, and look for what came to it: with that it stays, and is open again. Idempotent.

    Until the barrier goes, no engine expires main: then main and an archive that stays are parted in time.
    """
    if STAYS not in hold.steps:
        if late := _late(hold, archive, agreed, progress):
            # Noted before the mark goes: an archive without a mark is not removed.
            was_going = RESTORED in hold.steps
            hold.note(STAYS, {"late": str(late), "commits": len(late.commits), "was_going": was_going})
        elif GOES not in hold.steps:
            # Once it is open again, main may be rolled back: it is not compared any more.
            hold.note(GOES)
    stays = hold.journaled.noted(STAYS, Stays)
    if stays is not None:
        files, own = hold.context.files, hold.table.root()
        if stays.was_going:
            _put_back(files, own, archive, agreed)
        unmarked(hold, archive)
        part(files, own, archive, progress)
    return stays


def remove(hold: Hold, archive: Root, progress: Progress) -> None:
    """Remove the archive, unless another branch has its name by now. Idempotent."""
    if still_goes(hold, archive):
        protect_without(hold.context.files, archive, progress)
        remove_root(hold.context.files, archive)


def _late(hold: Hold, archive: Root, agreed: Agreed, progress: Progress) -> Late:
    files = hold.context.files
    if GOES in hold.steps:
        return came_since(files, archive, agreed) if still_goes(hold, archive) else Late()
    if not root_exists(files, archive):
        return Late()
    mark(hold, archive, "MAIN")
    return last_look(hold.context, archive, agreed, progress, hold.table.root())


def _put_back(files: Files, own: Root, archive: Root, agreed: Agreed) -> None:
    """Leave of the archive what came late, and put back from main what that needs to be read."""
    keep_only(files, archive, came_since(files, archive, agreed))
    held, names = root_files(files, archive), part_of(root_files(files, own), SCHEMAS)
    newest = Lineage(files, own).schema_ids()[-1]
    path = own.schema(newest)
    changed = {f"{SCHEMAS}/{SCHEMA_PREFIX}{newest}": with_retention(files.read(path), path)}
    copy_files(files, own, archive, [each for each in names if each not in held], changed)
    if agreed.head is None:
        return
    path = own.snapshot(agreed.head.id)
    data = read_if_there(files, path)
    if data is not None and agreed.head.is_of(Snapshot.from_json(data, path)):
        copy_files(files, own, archive, [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{agreed.head.id}"])
