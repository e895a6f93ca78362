"""Compactions in a history: commits that change no rows."""

from __future__ import annotations

from paimark.core.errors import NotFound
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Point, Snapshot


def only_compacted_since(lineage: Lineage, point: Point, newest: Snapshot) -> bool:
    """Whether the newest snapshot is this one, or has its rows: only compactions came since."""
    while not point.is_of(newest):
        if newest.commit_kind != "COMPACT" or newest.id <= point.id:
            return False
        try:
            newest = lineage.snapshot(newest.id - 1)
        except NotFound:
            return False
    return True
