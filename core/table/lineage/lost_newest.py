"""Whether a root has lost its newest snapshot files: it looks like one that ends earlier.

A backup that was restored in part leaves that, and whoever deletes files by hand. A writer changes LATEST
after its snapshot is there, and a rollback lowers it before it deletes one. So a LATEST that names a later
snapshot than any that is there is evidence; one that is too low only is old.
"""

from __future__ import annotations

from typing import NamedTuple

from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import is_apart


class LostNewest(NamedTuple):
    """`named` is the snapshot that LATEST names, `newest` the newest that is there."""

    root: Root
    named: int
    newest: int

    @property
    def path(self) -> str:
        """Of the snapshot that LATEST names."""
        return self.root.snapshot(self.named)

    @property
    def reason(self) -> str:
        return (
            f"{called(self.root)} has lost its newest snapshots: LATEST names {self.named}, "
            f"and the newest is {self.newest}"
        )

    @property
    def hint(self) -> str:
        return (
            f"Restore snapshots {self.newest + 1} to {self.named} from a backup. If it is to end at "
            f"{self.newest}, write {self.newest} into {self.root.latest_hint}."
        )


def lost_newest(files: Files, root: Root) -> LostNewest | None:
    """The loss that LATEST proves. None for a root without any snapshot, which nobody takes for shorter."""
    lineage = Lineage(files, root)
    named = lineage.named_latest()
    if named is None or files.exists(root.snapshot(named)):
        return None
    ids = lineage.snapshot_ids()
    if not ids or ids[-1] > named:
        return None
    # Again: a rollback may have lowered it, and deleted its snapshot, since.
    return LostNewest(root, named, ids[-1]) if lineage.named_latest() == named else None


def require_newest(files: Files, root: Root) -> None:
    """Raises `Refused` if LATEST proves that newest snapshots of the root are lost."""
    if (lost := lost_newest(files, root)) is not None:
        raise Refused(lost.reason, lost.hint)


def tags_beyond(side: Side) -> tuple[str, ...]:
    """A warning if tags of the root are of later snapshots than its newest.

    They prove less than LATEST: an engine may have rolled the root back without deleting them.
    """
    newest = side.latest_id
    own = ((tag.id, name) for name, tag in side.tags.items() if not is_apart(tag))
    later = [] if newest is None else [each for each in own if each[0] > newest]
    if not later:
        return ()
    number, name = max(later)
    return (
        f"{called(side.root)} ends at snapshot {newest}, and its tag {name} is of snapshot {number}: either "
        "somebody rolled it back, or its newest snapshots were lost",
    )


def called(root: Root) -> str:
    """At the beginning of a sentence."""
    name = root.table.full_name
    return f"Main of {name}" if root.branch is None else f"Branch {root.branch} of {name}"
