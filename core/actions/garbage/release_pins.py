"""Pins, the tags by which main keeps what a branch depends on: which branches do, and when pins may go.

Stock expiry on main spares the files that main's own tags hold, and ignores branches. Without the tag that a
branch was made from, it deletes files that the branch still reads. That stays so when the branch has expired
its first snapshots: it is independent only when it has no file of that state any more.

The tags go before their files: whoever reads a tag finds all that it names. The journal has them for a
recovery, which would not find them any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.sweep import LISTS_GONE, Removed, remove
from paimark.core.actions.garbage.unreferenced import FileCount
from paimark.core.actions.names import first_name
from paimark.core.actions.roots.root_files import remove_root
from paimark.core.errors import FileMissing, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import (
    CLAIM_PREFIX,
    SAVEPOINT_TAG_PREFIX,
    TAG_PREFIX,
    Root,
    TablePath,
    number_in,
    numbered,
    pins_of,
)
from paimark.core.table.lineage.forks import Side, find_fork, find_forks
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, has_schema, main_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.read_tags import is_permanent
from paimark.core.table.records import Snapshot, Tag, commit_key, is_same_commit

RELEASES = "releases the pins"


class Pins(msgspec.Struct, frozen=True):
    """The pins of `root` (None: the table directory) that go, by name, as they were written."""

    root: str | None
    tags: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, main: Root, tags: Mapping[str, Tag]) -> Pins:
        return cls(main.branch, {name: tag.as_written() for name, tag in tags.items()})

    def by_name(self) -> dict[str, Tag]:
        return {name: Tag.from_json(msgspec.json.encode(each), name) for name, each in self.tags.items()}


def released(files: Files, main: Root, branch: str) -> dict[str, Tag]:
    """Main's pins for a branch that are no longer needed once the branch is gone, by name.

    None while the branch is only retired, and may come back. A pin also stays if another branch forks from
    main at it or at an unknown snapshot, unless another permanent tag of main holds the commit. Raises
    `Corrupt`.
    """
    side, name = Side(files, main), first_name(branch)
    own = pins_of(name)
    pins = {each: tag for each, tag in side.tags.items() if own.fullmatch(each)}
    others = [root for root in all_roots(files, main.table) if root not in (main, main.table.root(branch))]
    if not pins or name in {first_name(root.label) for root in others}:
        return {}
    besides = {each: tag for each, tag in side.tags.items() if each not in pins}
    forks = {each.snapshot_id for each in find_forks(files, side, others)}
    return {
        each: tag
        for each, tag in pins.items()
        if forks.isdisjoint({tag.id, None}) or is_held(files, main, tag, besides)
    }


def pins_to_delete(main: Root, pins: Mapping[str, Tag]) -> ToDelete:
    """One or more pins, while their files and their guards still exist."""
    roots = (main,) if main.branch is None else (main, main.table.root())
    records = {commit_key(tag): tag for tag in pins.values()}
    ascending = sorted(records.values(), key=lambda each: each.id)
    paths = frozenset(root.tag(name) for root in roots for name in pins)
    return ToDelete(roots, ascending[-1].schema_id, tuple(ascending), paths)


def release(
    context: Context,
    hold: Hold,
    branch: str,
    progress: Progress,
    count: FileCount | None = None,
    snapshot: int | None = None,
) -> Removed:
    """After a branch is gone: delete its pins, with the files that only they kept. Idempotent.

    `count`: a count of them that was made before. With `snapshot`, only the pins of it.
    """
    files, going = context.files, hold.journaled.noted(RELEASES, Pins)
    if going is None:
        main = main_root(files, hold.table)
        found = released(files, main, branch).items()
        going = Pins.of(main, {name: tag for name, tag in found if snapshot in (None, tag.id)})
        if not going.tags:
            return Removed()
        hold.note(RELEASES, msgspec.to_builtins(going))
    pins = going.by_name()
    to_delete = pins_to_delete(hold.table.root(going.root), pins)
    paths = sorted(to_delete.paths)
    for path, data in zip(paths, files.read_many(paths), strict=True):
        # In a recovery, another may have the name by now.
        if data is not None and is_same_commit(Tag.from_json(data, path), pins[_name_of(path)]):
            files.delete(path)
    progress(f"released tag {', '.join(pins)}")
    return remove(context, hold, to_delete, progress, part="pins: ", count=count)


def _name_of(path: str) -> str:
    return path.rpartition(f"/{TAG_PREFIX}")[2]


# Its own snapshots and tags name the files, so they are deleted last: a recovery reads them again.
def root_to_delete(files: Files, root: Root, kept: frozenset[str] = frozenset()) -> ToDelete:
    """Everything that a root holds, except the files in `kept`. Raises `Refused` if some is unreadable."""
    lineage = Lineage(files, root)
    snapshots = [each for each in lineage.snapshots() if root.snapshot(each.id) not in kept]
    tags = [(name, tag) for name, tag in lineage.tags() if root.tag(name) not in kept]
    for sentence in lineage.unreadable.values():
        raise Refused(
            f"What {root.label} keeps can't be told: {sentence}", "Repair or remove that file first."
        )
    records: dict[tuple[int, str, str], Snapshot] = {commit_key(tag): tag for _, tag in tags}
    records |= {commit_key(each): each for each in snapshots}
    ascending = sorted(records.values(), key=lambda each: each.id)
    paths = [root.snapshot(each.id) for each in snapshots] + [root.tag(name) for name, _ in tags]
    return ToDelete(
        roots=(root,),
        schema_id=ascending[-1].schema_id if ascending else 0,
        records=tuple(ascending),
        paths=frozenset(paths),
        is_expiry=True,
    )


def drop_root(context: Context, hold: Hold, root: Root, progress: Progress) -> Removed:
    """Delete the files that only this root keeps, then the root. Idempotent."""
    removed = drop_files(context, hold, root, progress)
    remove_root(context.files, root)
    progress(f"removed branch {root.label}")
    return removed


def drop_files(
    context: Context,
    hold: Hold,
    root: Root,
    progress: Progress,
    count: FileCount | None = None,
    kept: frozenset[str] = frozenset(),
) -> Removed:
    """Delete the files that only this root keeps, besides what its files `kept` need. Idempotent.

    `count`: a count of them that was made before. Without a schema nobody can tell where its data files are:
    they stay.
    """
    if LISTS_GONE in hold.steps or not has_schema(context.files, root):
        return Removed()
    to_delete = root_to_delete(context.files, root, kept)
    return remove(context, hold, to_delete, progress, count=count) if to_delete.records else Removed()


class Dependent(NamedTuple):
    """A branch that needs a tag of main: `Branch fix was made from tag v2`, with `how` in the middle."""

    branch: str
    how: str

    def said(self, what: str) -> str:
        return f"Branch {self.branch} {self.how} {what}"


def dependents(files: Files, table: TablePath, tag: Tag, going: Collection[str]) -> list[Dependent]:
    """Branches that need main to hold the commit of this tag.

    `going` are the paths of the tags to delete, this one among them. No branch needs it while main has
    another permanent tag of the commit. Raises `Corrupt`.
    """
    own = main_root(files, table)
    if is_held(files, own, tag, Side(files, own, going).tags):
        return []
    main = Side(files, own).read()
    sides = [Side(files, root, going) for root in all_roots(files, table) if root not in (own, table.root())]
    answers = list(each_of(partial(_dependence, main, tag), sides))
    untold = [each for each in answers if isinstance(each, _Untold)]
    return [each for each in answers if isinstance(each, Dependent)] + _sharing(files, table, tag, untold)


def is_held(files: Files, main: Root, tag: Tag, others: Mapping[str, Tag]) -> bool:
    """Whether one of these other tags of main keeps the commit for good.

    The tag of a savepoint that is being made does not count, because its maker may take it back. One of
    `create-tag` counts at once: its maker asks `dependents` before it takes it back.
    """
    held = ((name, other) for name, other in others.items() if is_same_commit(other, tag))
    keeping = [name for name, other in held if is_permanent(name, other)]
    savepoints = {name: number_in(name, SAVEPOINT_TAG_PREFIX) for name in keeping}
    if not keeping or None in savepoints.values():
        return bool(keeping)
    # Without a claim the savepoint was made, or was taken back since the tags were read: the tag goes first.
    claimed = numbered(files.names(main.table.savepoints), CLAIM_PREFIX)
    return any(number not in claimed and files.exists(main.tag(name)) for name, number in savepoints.items())


class _Untold(NamedTuple):
    """A branch that has lost all records from the time of a tag: only files tell whether it forked there.

    `oldest` is the oldest snapshot id that the branch still has from after the fork.
    """

    branch: Side
    oldest: int


def _dependence(main: Side, tag: Tag, branch: Side) -> Dependent | _Untold | None:
    name, fork = branch.root.label, find_fork(main, branch)
    parted = (fork.snapshot_id or 0) if fork.is_proven else 0
    if parted == tag.id:
        return Dependent(name, "was made from")
    if any(is_same_commit(each, tag) for each in branch.tags.values()):
        return Dependent(name, "has a tag of the same snapshot as")
    after = min((each for each in branch.known_ids if each > parted), default=None)
    return None if after is None or not parted < tag.id < after else _Untold(branch, after)


def _sharing(files: Files, table: TablePath, tag: Tag, untold: Sequence[_Untold]) -> list[Dependent]:
    """The branches that share files with the tag; the tag's file names are read only once."""
    sharing, names = list[Dependent](), set[str]()
    for branch, after in untold:
        label = branch.root.label
        try:
            names = names or {each.name for each in snapshot_facts(files, table, tag)}
            oldest = branch.record(after)
            if oldest is None or any(each.name in names for each in snapshot_facts(files, table, oldest)):
                sharing.append(Dependent(label, "has files of"))
        except FileMissing:
            sharing.append(Dependent(label, "may have files of"))
    return sharing
