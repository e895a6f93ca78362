"""`branch/merges`: which commits of each branch main has, the base of the next merge. JSON lines of events.

A rollback removes merges from main's rows, and a later rollback may bring them back. So no event is ever
removed from the file. The valid events are found by going back through them from main's head.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple

import msgspec

from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Point, Record, Snapshot


class MergeEvent(Record, frozen=True, kw_only=True):
    """A merge or rollback of main."""

    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    kind: Literal["merge", "rollback"]  # `merge` or `rollback`. An undo of a commit is a rollback
    root: str | None = None  # main's root
    main: Point  # main's commit
    branch: str = ""  # the branch that was merged
    head: Point | None = None  # its snapshot that main has since
    base_head: Point | None = None  # the branch's snapshot that the merge started from
    base_main: Point | None = None  # main's snapshot that it started from
    to: int = 0  # the id whose rows main has again
    then: Point | None = None  # that snapshot

    @property
    def is_forward(self) -> bool:
        """Whether it was a fast-forward: main's commits are then the branch's."""
        return self.kind == "merge" and self.head == self.main


def events(files: Files, table: TablePath) -> list[MergeEvent]:
    """All events, oldest first. Raises `Corrupt`."""
    lines = (read_if_there(files, table.merges) or b"").splitlines()
    return [MergeEvent.from_json(line, table.merges) for line in lines if line.strip()]


class Merged(NamedTuple):
    """The last state of a branch that main's rows have: its snapshot, and main's snapshot with it.

    `is_taken_back`: a rollback removed later merges of the branch, and this state remains. After a
    fast-forward both lineages keep the branch's commits for good, so their fork tells nothing.
    """

    head: Point
    main: Point
    is_taken_back: bool = False


def merged(files: Files, main: Root, branch: str) -> Merged | None:
    """How much of the branch main's rows have; None if it was never merged. Raises `Corrupt`."""
    until: int | None = None
    then: Point | None = None
    before: Merged | None = None
    for event in reversed([each for each in events(files, main.table) if each.root == main.branch]):
        if until is not None and event.main.id > until:
            if event.branch == branch and event.base_head and event.base_main:
                if event.is_forward and then and until > event.base_main.id:
                    # Main went back to one of the branch's own commits.
                    return Merged(then, then, is_taken_back=True)
                before = Merged(event.base_head, event.base_main, is_taken_back=True)
        elif event.kind == "rollback":
            if not _is_given_up(files, main, event.main):
                until, then = event.to, event.then
        elif event.branch == branch and event.head is not None:
            return Merged(event.head, event.main)
    return before


def _is_given_up(files: Files, main: Root, commit: Point) -> bool:
    """Whether another engine rolled main back past the commit, so that its rollback is void.

    A commit that has expired is not given up: main passed its id, and no other commit has it.
    """
    lineage = Lineage(files, main)
    if commit.id > (lineage.latest_id() or 0):
        return True
    path = main.snapshot(commit.id)
    [data] = files.read_many([path])
    return data is not None and not commit.is_lost and not commit.is_of(Snapshot.from_json(data, path))


def move(files: Files, main: Root, to: Root, after: int, until: float = math.inf) -> None:
    """Move the entries of commits after a snapshot to another root, which now has those commits."""
    known = events(files, main.table)
    moved = [
        msgspec.structs.replace(each, root=to.branch)
        if each.root == main.branch and after < each.main.id <= until
        else each
        for each in known
    ]
    if moved != known:
        _write(files, main.table, moved)


def hand_on(files: Files, source: Root, target: Root, until: float = math.inf) -> None:
    """Copy the entries of commits up to a snapshot to another root, which also has them. Idempotent."""
    known = events(files, source.table)
    own = [each for each in known if each.root == target.branch]
    handed_on = [
        msgspec.structs.replace(each, root=target.branch)
        for each in known
        if each.root == source.branch and each.main.id <= until
    ]
    if new := [each for each in handed_on if each not in own]:
        others = [each for each in known if each.root != target.branch]
        # Each commit of a root has a higher id than those before it.
        _write(files, source.table, [*others, *sorted([*own, *new], key=lambda each: each.main.id)])


def rename(files: Files, source: Root, target: Root) -> None:
    """Rename a branch in all entries, as main or as the merged branch. Idempotent."""
    known = events(files, source.table)
    renamed = [
        msgspec.structs.replace(
            each,
            root=target.branch if each.root == source.branch else each.root,
            branch=target.label if each.branch == source.label else each.branch,
        )
        for each in known
    ]
    if renamed != known:
        _write(files, source.table, renamed)


def record(files: Files, table: TablePath, event: MergeEvent) -> None:
    """Add an event. Idempotent. The caller holds the table's journal."""
    known = events(files, table)
    if event in known:
        return
    _write(files, table, [*known, event])


def _write(files: Files, table: TablePath, entries: list[MergeEvent]) -> None:
    # `Record.to_json` writes several lines, for people; here an entry is one line.
    lines = [b" ".join(each.to_json().split(b"\n")) for each in entries]
    files.replace(table.merges, b"\n".join([*lines, b""]))
