"""A branch to be removed is marked before any of it goes, and its mark is removed last.

Before a recovery, another engine may delete the rest of the branch and make another one of its name. That one
has no mark, and stays. So does a branch to which a job committed until it was closed. The archive of a
replacement that is taken back goes in the same way, because main has all of it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item
from paimark.core.actions.replace.point_main import part
from paimark.core.actions.roots.barrier import close_before_removal, is_marked, put_before_removal, unmark
from paimark.core.actions.roots.root_files import (
    SCHEMAS,
    SNAPSHOTS,
    copy_files,
    part_of,
    remove_root,
    root_files,
    snapshot_ids,
)
from paimark.core.actions.roots.waiting import wait_for_writers
from paimark.core.actions.savepoints.unprotected import protect_without
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.figures import counted, moment
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.commits import stored
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import BARRIER, SCHEMA_PREFIX, SNAPSHOT_PREFIX, TAG_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Point, Snapshot, point_of

MARKS = "marks the branch as one that goes"
GOES, STAYS = "the archive goes", "the archive stays"
# Main is open to other engines again.
RESTORED = "took the guards out of the table directory"


def mark(hold: Hold, root: Root, becomes: str) -> None:
    """Mark a root before its removal; `becomes` is its new state or name, one word. Idempotent."""
    if MARKS not in hold.steps:
        earliest = read_if_there(hold.context.files, root.earliest_hint)
        hold.note(MARKS, {"earliest": None if earliest is None else earliest.decode(errors="replace")})
    put_before_removal(hold.context.files, root, becomes)


def still_goes(hold: Hold, root: Root) -> bool:
    """Whether the root is still the marked branch, or is gone. Another branch of its name stays."""
    files = hold.context.files
    return MARKS not in hold.steps or is_marked(files, root) or not root_exists(files, root)


def unmarked(hold: Hold, root: Root) -> None:
    """Remove the mark, because the branch stays. Idempotent; another branch of its name has no mark."""
    files = hold.context.files
    delete_temporaries(files, root.snapshots, {BARRIER})
    unmark(files, root, earliest_before(hold, root))


def earliest_before(hold: Hold, root: Root) -> bytes | None:
    """The EARLIEST that a root had before its mark, or has, if it was not marked; None if it had none."""
    if MARKS not in hold.steps:
        return read_if_there(hold.context.files, root.earliest_hint)
    earliest = (hold.journaled.data_of(MARKS) or {}).get("earliest")
    return None if earliest is None else str(earliest).encode()


class Agreed(msgspec.Struct, frozen=True):
    """What a person agreed to delete with a branch: its commits up to `head`, and its tags."""

    head: Point | None = None
    tags: tuple[str, ...] = ()


def agreed_on(files: Files, root: Root) -> Agreed:
    """The present state of a branch. Raises `Corrupt`."""
    newest = _commits(files, root, snapshot_ids(files, root)[-1:])
    return Agreed(point_of(newest[-1]) if newest else None, tuple(_tags(files, root)))


class Late(NamedTuple):
    """Commits and tags that nobody agreed to delete with a branch."""

    commits: tuple[Snapshot, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.tags)

    def __str__(self) -> str:
        if not self.commits:
            return f"tag {', '.join(self.tags)}"
        newest = self.commits[-1]
        made = f"snapshot {newest.id} by {newest.commit_user}, of {moment(newest.time_millis)}"
        count = len(self.commits)
        return made if count == 1 else f"{counted(count, 'commit')}, the newest {made}"

    def paths(self, root: Root) -> frozenset[str]:
        return frozenset([*(root.snapshot(each.id) for each in self.commits), *map(root.tag, self.tags)])


def came_since(files: Files, root: Root, agreed: Agreed, origin: Root | None = None) -> Late:
    """What came to a branch later. Raises `Corrupt`.

    What another engine has deleted since is no reason to keep the rest, nor is a statement that reads.
    `origin` has the same commits: if a job rolled the branch back, its commits have ids that were there
    before, and differ from those.
    """
    first = agreed.head.id if agreed.head else 0
    there = _commits(files, root, [each for each in snapshot_ids(files, root) if each >= first])
    later = (each for each in there if agreed.head is None or not agreed.head.is_of(each))
    earlier = () if origin is None else _others(files, root, origin, first)
    tags = (each for each in _tags(files, root) if each not in agreed.tags and not is_of_read(each))
    return Late((*earlier, *later), tuple(tags))


def last_look(
    context: Context, root: Root, agreed: Agreed, progress: Progress, origin: Root | None = None
) -> Late:
    """What came to a marked branch until now. From now on, jobs on it fail at their next commit.

    It waits for a commit that is under way. Look with `came_since` again before anything is deleted: the
    writer of a commit may stand still for longer.
    """
    close_before_removal(context.files, root)
    wait_for_writers(context, progress)
    # The writer of such a commit sets LATEST.
    close_before_removal(context.files, root)
    return came_since(context.files, root, agreed, origin)


def keep_only(files: Files, root: Root, late: Late) -> None:
    """Leave of a branch's snapshots and tags what came late, because some of the rest is gone. Idempotent."""
    kept = late.paths(root)
    paths = [*map(root.snapshot, snapshot_ids(files, root)), *map(root.tag, _tags(files, root))]
    for path in paths:
        if path not in kept:
            files.delete(path)


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
    if agreed.head is not None and stored(files, own, agreed.head) is not None:
        copy_files(files, own, archive, [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{agreed.head.id}"])


def _others(files: Files, root: Root, origin: Root, before: int) -> list[Snapshot]:
    """The snapshots with ids below `before` that are others than those of `origin`."""
    ids = set(snapshot_ids(files, root)).intersection(snapshot_ids(files, origin))
    shared = sorted(each for each in ids if each < before)
    theirs = {each.id: point_of(each) for each in _commits(files, origin, shared)}
    ours = _commits(files, root, shared)
    return [each for each in ours if each.id in theirs and not theirs[each.id].is_of(each)]


def _commits(files: Files, root: Root, ids: Sequence[int]) -> list[Snapshot]:
    paths = [root.snapshot(each) for each in ids]
    found = zip(paths, files.read_many(paths), strict=True)
    return [Snapshot.from_json(data, path) for path, data in found if data is not None]


def _tags(files: Files, root: Root) -> list[str]:
    names = (name for name in files.names(root.tags) if name.startswith(TAG_PREFIX))
    return sorted(name.removeprefix(TAG_PREFIX) for name in names)
