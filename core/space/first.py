"""The quick figure: the size of a branch's newest snapshot, before anything else is counted."""

from __future__ import annotations

from typing import NamedTuple

from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, size_of

# Manifests of so many bytes are decoded in a fraction of a second.
_QUICK = 256 << 10


class FirstFigure(NamedTuple):
    """Data files of the newest snapshot, and their bytes; None if counting them would take too long."""

    files: int | None = None
    bytes: int | None = None


def first_figure(files: Files, root: Root) -> FirstFigure:
    """Reads two lists, and manifests only if they are small. Raises `Corrupt`, `FileMissing`."""
    newest = Lineage(files, root).latest()
    if newest is None:
        return FirstFigure(0, 0)
    manifests = data_manifests(files, root.table, newest)
    entries = [each.entries for each in manifests]
    count = sum(each[0] - each[1] for each in entries if each) if None not in entries else None
    is_quick = sum(each.file_size for each in manifests) <= _QUICK
    size = size_of(files, root.table, newest)[1] if is_quick else None
    return FirstFigure(count, size)
