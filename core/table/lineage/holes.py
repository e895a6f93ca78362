"""Snapshots that are missing between others of a root.

An expiry deletes from the oldest on, a rollback from the newest on. So a hole is a loss: somebody deleted
files, or restored a backup in part. But stock's `fast_forward` of a branch that has expired leaves one in
main, and EARLIEST then names the snapshot behind it: no stock expiry takes those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import called


class Hole(NamedTuple):
    """The ids `first` to `last` are missing. `oldest` and `newest` are those of the root that are there.

    `is_cut_off`: EARLIEST lies behind it, so that for stock engines nothing is missing.
    """

    root: Root
    first: int
    last: int
    oldest: int
    newest: int
    is_cut_off: bool

    @property
    def path(self) -> str:
        """Of the first that is missing."""
        return self.root.snapshot(self.first)

    @property
    def reason(self) -> str:
        name, missing = called(self.root), _ids(self.first, self.last)
        if self.is_cut_off:
            return (
                f"{name} has {_ids(self.oldest, self.first - 1)} before a hole, as after a stock "
                f"fast-forward: {missing} are not there. Stock engines never expire what is before it"
            )
        return (
            f"{name} has lost {missing}, between {self.first - 1} and {self.last + 1}. A read as of a time "
            f"from then gives snapshot {self.first - 1}"
        )

    @property
    def hint(self) -> str:
        words = [self.root.table.full_name, *(["--branch", self.root.label] if self.root.branch else [])]
        command = shell_line(
            ["paimark", "expire-snapshots", *words, "--retain-last", str(self.newest - self.last)]
        )
        if self.is_cut_off:
            return f"To let those before it expire: {command}"
        return f"Restore them from a backup. To do without, and without those before: {command}"


def holes(files: Files, root: Root) -> Iterator[Hole]:
    """The holes of a root, the lowest first. Raises `NotFound` if it is gone."""
    lineage = Lineage(files, root)
    if not (found := _missing(lineage.snapshot_ids())):
        return
    earliest = lineage.named_earliest() or 0
    # Again: an expiry may have been under way, or a fast-forward. A listing takes a while.
    ids = lineage.snapshot_ids()
    for first, last in _missing(ids):
        if (first, last) in found:
            yield Hole(root, first, last, ids[0], ids[-1], is_cut_off=earliest > last)


def _missing(ids: list[int]) -> list[tuple[int, int]]:
    return [(before + 1, after - 1) for before, after in pairwise(ids) if after > before + 1]


def _ids(first: int, last: int) -> str:
    return f"snapshot {first}" if first == last else f"snapshots {first} to {last}"
