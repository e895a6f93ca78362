"""Mark tags of a history from which their root was rolled back: their ids do not show it.

Another engine's rollback deletes the tags of the snapshots that it cuts off, and `recover` gives a savepoint
its tag again. New ids continue from before that, so the tag seems to be of an earlier state of the root.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage.lineage import Lineage
from core.table.manifests.chain import comes_from
from core.table.read_tags import is_read_tag
from core.table.records import APART, Snapshot, Tag, is_apart, is_same_commit

# The advice for a table with such a tag.
INSTEAD = "Expire with Paimark alone, or roll back to the savepoint and delete it"
# How many older tags a warning names.
_NAMED = 5


def marked_unless_proven(files: Files, root: Root, snapshot: Snapshot) -> Snapshot:
    """The snapshot as a tag of the root has to store it. A needless mark only costs time."""
    lineage = Lineage(files, root)
    ids = lineage.snapshot_ids()
    if snapshot.id in ids and is_same_commit(lineage.snapshot(snapshot.id), snapshot):
        return snapshot
    above = next((each for each in ids if each > snapshot.id), None)
    if above is not None and comes_from(files, root.table, lineage.snapshot(above), snapshot):
        return snapshot
    return msgspec.structs.replace(snapshot, properties={**(snapshot.properties or {}), APART: "true"})


def endangered(tags: Iterable[tuple[str, Tag]], number: int) -> str:
    """The tags older than snapshot `number`, as words of a sentence; empty if there are none.

    A stock expiry spares the files of the nearest earlier tag, as if that were of the same history.
    """
    older = [name for name, tag in tags if tag.id < number and not is_read_tag(name)]
    return ", ".join(older[:_NAMED]) + (", ..." if len(older) > _NAMED else "")


def warnings(files: Files, root: Root) -> list[str]:
    """Warnings about the danger of a root's marked tags for older ones."""
    tags = Lineage(files, root).tags()
    return [
        f"Tag {name} may be of a history that {root.label} was rolled back from: beside it a stock expiry "
        f"can take files of older tags ({older})"
        for name, tag in tags
        if is_apart(tag) and (older := endangered(tags, tag.id))
    ]
