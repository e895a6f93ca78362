"""Describe merges, replacements and rollbacks in words beside the commits that they made."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, TablePath
from paimark.core.table.operations import Operation, read_operations
from paimark.core.table.records import Point
from paimark.core.table.timeline.scene import PastEvent

# The newest records of each kind that are read.
_MOST = 200


def read_past_events(files: Files, table: TablePath) -> tuple[list[PastEvent], list[str]]:
    """The newest merges and operations, and a sentence for each record that can't be read."""
    events: list[PastEvent] = []
    left_out: list[str] = []
    for read in (_merges, lambda files, table: _of_operations(_operations(files, table))):
        try:
            events += read(files, table)
        except Corrupt as error:
            left_out.append(error.message)
    return events, left_out


def _merges(files: Files, table: TablePath) -> list[PastEvent]:
    from paimark.core.actions.merge import history

    return [
        PastEvent(
            each.root,
            each.main,
            f"{'fast-forward to' if each.is_forward else 'merge of'} {each.branch}",
            source=each.branch,
            head=None if each.is_forward else each.head,
        )
        for each in history.events(files, table)[-_MOST:]
        if each.kind == "merge"
    ]


def _operations(files: Files, table: TablePath) -> list[Operation]:
    return read_operations(files, table, _MOST)


def _of_operations(operations: Sequence[Operation]) -> list[PastEvent]:
    undone: set[str | None] = set()
    for each in operations:
        undone.add(each.undoes)
        undone.discard(each.redoes)
    entries = [each for each in operations if each.is_undoable and each.token not in undone]
    return [event for each in entries for event in _of_entry(each)]


def _of_entry(entry: Operation) -> list[PastEvent]:
    main, head = entry.turned.main, entry.turned.head
    if main is not None and main.head is not None:
        moved = entry.turned.moved
        before = main.before or (moved.after if moved and not main.was_dropped else MAIN)
        at = Point(id=main.head, delta_manifest_list="")
        return [PastEvent(main.after, at, f"became main in place of {before}", entry.time)]
    # Merges have a record of their own with more data.
    if head is not None and entry.action != "merge-branch":
        return [PastEvent(head.root, head.after, entry.description)]
    return []
