"""Mark tags of a history from which their root was rolled back: their ids do not show it.

Another engine's rollback deletes the tags of the snapshots that it cuts off, and `recover` gives a savepoint
its tag again. New ids continue from before that, so the tag seems to be of an earlier state of the root.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import comes_from
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.read_tags import is_read_tag
from paimark.core.table.records import APART, Snapshot, Tag, is_apart, is_same_commit

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


def without_mark(snapshot: Snapshot) -> Snapshot:
    """The snapshot as it was before it was marked."""
    others = {name: value for name, value in (snapshot.properties or {}).items() if name != APART}
    return msgspec.structs.replace(snapshot, properties=others or None)


def endangered(files: Files, root: Root, snapshot: Snapshot) -> str:
    """The root's tags that a tag of the snapshot endangers, as words of a sentence; empty if there are none.

    A stock expiry spares the files of the nearest earlier tag, as if that were of the same history: the next
    older tags are in danger if they have other files. Of two tags with one id it knows only one.
    """
    tags = [(name, tag) for name, tag in Lineage(files, root).tags() if not is_read_tag(name)]
    names = [name for name, tag in tags if tag.id == snapshot.id and not is_same_commit(tag, snapshot)]
    older = [(name, tag) for name, tag in tags if tag.id < snapshot.id]
    if older and not _has_all(files, root, snapshot, max(tag.id for _, tag in older), older):
        names += [name for name, _ in older]
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _has_all(
    files: Files, root: Root, snapshot: Snapshot, nearest: int, older: Iterable[tuple[str, Tag]]
) -> bool:
    """Whether the snapshot has every data file of the nearest older tags; False if that can't be read."""
    try:
        held = _data_files(files, root, snapshot)
        return all(_data_files(files, root, tag) <= held for _, tag in older if tag.id == nearest)
    except (FileMissing, Corrupt):
        return False


def _data_files(files: Files, root: Root, snapshot: Snapshot) -> set[str]:
    return {each.name for each in snapshot_facts(files, root.table, snapshot)}


def warnings(files: Files, root: Root) -> list[str]:
    """Warnings about the danger of a root's marked tags for older ones."""
    tags = Lineage(files, root).tags()
    return [
        f"Tag {name} may be of a history that {root.label} was rolled back from: beside it a stock expiry "
        f"can take files of other tags ({others})"
        for name, tag in tags
        if is_apart(tag) and (others := endangered(files, root, tag))
    ]
