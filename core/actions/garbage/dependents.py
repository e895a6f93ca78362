"""The existing branches that depend on a tag of main.

Stock expiry on main spares the files that main's own tags hold, and ignores branches. Without the tag that a
branch was made from, it deletes files that the branch still reads. That stays so when the branch has expired
its first snapshots: it is independent only when it has no file of that state any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import CLAIM_PREFIX, SAVEPOINT_TAG_PREFIX, Root, TablePath, number_in
from paimark.core.table.lineage.forks import Side, find_fork
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.read_tags import is_permanent
from paimark.core.table.reading import numbered
from paimark.core.table.records import Tag, is_same_commit


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
