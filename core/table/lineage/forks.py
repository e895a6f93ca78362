"""Find the fork of two lineages, and count the commits since on each side.

Ids rise by one with each commit, so they count commits even if many have expired. Up to the fork both
lineages hold the same snapshots, after it none in common: a bisection of the ids that both know finds it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from paimark.core.once import once
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import PIN_PREFIXES, SNAPSHOT_PREFIX, Root, in_order_of_makers, numbered
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.read_tags import is_read_tag
from paimark.core.table.records import Snapshot, Tag, is_apart, is_same_commit


@dataclass(frozen=True, slots=True)
class Fork:
    """The point at which a branch parts from main.

    `snapshot_id` is the newest snapshot that both hold, in a snapshot file or a tag. If main has lost it, it
    is the snapshot from which the branch was made, not proven; None if it is unknown. `ahead` counts the
    commits of the branch since the fork, `behind` those of main; None without a fork.
    """

    snapshot_id: int | None
    ahead: int | None
    behind: int | None
    is_proven: bool


class Side:
    """The snapshots of one root, from one listing and one read of the tags, each made on first use.

    `ignored_tags` are paths of tags that do not count. Nor do tags marked as of another history.
    `ancestors_only` leaves out snapshots that are not ancestors of the newest: a tag may hold one past which
    another engine rolled the root back.
    """

    def __init__(
        self, files: Files, root: Root, ignored_tags: Collection[str] = (), *, ancestors_only: bool = False
    ) -> None:
        self.root = root
        self.lineage = Lineage(files, root)
        self._ignored_tags = ignored_tags
        self._ancestors_only = ancestors_only

    @once
    def snapshot_ids(self) -> list[int]:
        return numbered(self.lineage.files.names(self.root.snapshots), SNAPSHOT_PREFIX)

    @once
    def tags(self) -> dict[str, Tag]:
        """The tags by name, without read tags: these are temporary."""
        return {
            name: tag
            for name, tag in self.lineage.tags()
            if not is_read_tag(name) and self.root.tag(name) not in self._ignored_tags
        }

    @property
    def latest_id(self) -> int | None:
        return self.snapshot_ids[-1] if self.snapshot_ids else None

    @once
    def _tagged(self) -> dict[int, Tag]:
        newest = self.latest_id or 0
        return {
            tag.id: tag
            for tag in self.tags.values()
            if not is_apart(tag) and (not self._ancestors_only or tag.id <= newest)
        }

    @once
    def known_ids(self) -> set[int]:
        """The ids of all snapshots and tags."""
        return {*self.snapshot_ids, *self._tagged}

    def read(self) -> Side:
        """Returns itself after reading its listing and tags: call it before many threads need them."""
        assert self.known_ids is not None
        return self

    def record(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot, or a tag of it; None if both have gone since the listing. Raises `Corrupt`."""
        if snapshot_id in self._tagged and not self._ancestors_only:
            return self._tagged[snapshot_id]
        path = self.root.snapshot(snapshot_id)
        [data] = self.lineage.files.read_many([path])
        return self._tagged.get(snapshot_id) if data is None else Snapshot.from_json(data, path)


def find_fork(main: Side, branch: Side) -> Fork:
    """The fork of a branch from main. Raises `Corrupt` for a half-written snapshot that could decide.

    It takes two listings, the tags, and a read of each side per step of the bisection.
    """
    common = sorted(main.known_ids & branch.known_ids)
    low, high = 0, len(common)
    while low < high:
        middle = (low + high) // 2
        left, right = main.record(common[middle]), branch.record(common[middle])
        if left is None or right is None:
            # It expired after the listing, and can't be compared.
            del common[middle]
            high -= 1
        elif is_same_commit(left, right):
            low = middle + 1
        else:
            high = middle
    if low:
        return _fork_at(main, branch, common[low - 1], is_proven=True)
    fork_id = _first_shared_id(main, branch)
    if fork_id is None:
        return Fork(None, None, None, is_proven=False)
    return _fork_at(main, branch, fork_id, is_proven=False)


def find_forks(files: Files, main: Side, branches: Sequence[Root]) -> list[Fork]:
    """The fork of each of these branches from main, found in parallel. Raises `NotFound` and `Corrupt`."""
    main = main.read()
    return list(each_of(lambda root: find_fork(main, Side(files, root)), branches))


def _first_shared_id(main: Side, branch: Side) -> int | None:
    """The branch's first snapshot, if it began with a tag of it and all of main's snapshots are newer."""
    ids = branch.snapshot_ids
    if not ids or not main.snapshot_ids or ids[0] >= main.snapshot_ids[0]:
        return None
    began_with_tag = any(tag.id == ids[0] for tag in branch.tags.values())
    return ids[0] if began_with_tag else None


def _fork_at(main: Side, branch: Side, fork_id: int, *, is_proven: bool) -> Fork:
    ahead = max(0, (branch.latest_id or fork_id) - fork_id)
    behind = max(0, (main.latest_id or fork_id) - fork_id)
    return Fork(fork_id, ahead, behind, is_proven)


# Main's next stock expiry deletes files of it.
#
# Other engines delete the tag from which a branch was made without a check for branches, and roll main back
# past it. Their fast-forward gives main and the branch the same history, and makes no tag.
class Unheld(NamedTuple):
    """`tag` is the tag from which the branch was made, if main lost it; None if they share it without a tag.

    `in_main` tells whether main still has the snapshot, so that it can be tagged.
    """

    snapshot: Snapshot
    tag: str | None
    in_main: bool

    def danger(self, branch: str) -> str:
        """The danger in words for people, who know the branch as `branch`."""
        lost = f"Main lost tag {self.tag}, which {branch} was made from"
        if self.tag is None:
            lost = f"Main shares snapshot {self.snapshot.id} with {branch}, and no tag of main holds it"
        return f"{lost}: a stock expiry on main can take files that {branch} needs"

    @property
    def tag_name(self) -> str:
        """The name of a tag by which main can hold it."""
        return self.tag or f"shared-{self.snapshot.id}"


def unheld_fork(main: Side, branch: Side, fork: Fork) -> Unheld | None:
    """None while a branch is main: stock expiry checks only the table directory's tags. Raises `Corrupt`."""
    if main.root.branch is not None or branch.root == main.root:
        return None
    first = min(branch.known_ids, default=0)
    tags = in_order_of_makers(name for name, tag in branch.tags.items() if tag.id == first)
    if tags and not _holds(main, branch.tags[tags[0]]):
        # A pin can't be made again by hand: only programs give its name.
        made_from = None if tags[0].startswith(PIN_PREFIXES) else tags[0]
        return _unheld(main, branch.tags[tags[0]], made_from)
    shared = branch.record(fork.snapshot_id) if fork.is_proven and fork.snapshot_id else None
    return None if shared is None or _holds(main, shared) else _unheld(main, shared, None)


def _holds(main: Side, snapshot: Snapshot) -> bool:
    return any(is_same_commit(tag, snapshot) for tag in main.tags.values())


def _unheld(main: Side, snapshot: Snapshot, tag: str | None) -> Unheld:
    path = main.root.snapshot(snapshot.id)
    [data] = main.lineage.files.read_many([path])
    in_main = data is not None and is_same_commit(Snapshot.from_json(data, path), snapshot)
    return Unheld(snapshot, tag, in_main)
