"""Find a snapshot that a branch shares with main and no tag of main holds.

Main's next stock expiry deletes files of it.

Other engines delete the tag from which a branch was made without a check for branches, and roll main back
past it. Their fast-forward gives main and the branch the same history, and makes no tag.
"""

from __future__ import annotations

from typing import NamedTuple

from paimark.core.table.layout import PIN_PREFIXES, in_order_of_makers
from paimark.core.table.lineage.forks import Fork, Side
from paimark.core.table.records import Snapshot, is_same_commit


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
