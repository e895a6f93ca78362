"""`branch/merges`: which commits of each branch main, or another branch, has: the base of the next merge.

JSON lines of events. A rollback removes merges from the target's rows, and a later rollback may bring them
back. So no event is ever removed from the file. The valid events are found by going back through them from
the target's head.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import ClassVar, Literal, NamedTuple

import msgspec

from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.edits import RowsEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import root_exists
from paimark.core.table.records import Point, Record, Snapshot, point_of


class MergeEvent(Record, frozen=True, kw_only=True):
    """A merge or rollback of main, or another branch: the names are of when only main was merged into."""

    newest: ClassVar[int | None] = 1

    version: int = 1  # format
    kind: Literal["merge", "rollback"]  # `merge` or `rollback`. An undo of a commit is a rollback
    root: str | None = None  # the root of the target: main's, or that of the branch that was merged into
    main: Point  # the target's commit
    branch: str = ""  # the branch that was merged; `main`: the table directory
    head: Point | None = None  # its snapshot that the target has since
    # the branch's snapshot that the merge started from; null if that was none of its own history
    base_head: Point | None = None
    base_main: Point | None = None  # the target's snapshot that it started from
    to: int = 0  # the id whose rows the target has again
    then: Point | None = None  # that snapshot

    @property
    def is_forward(self) -> bool:
        """Whether it was a fast-forward: the target's commits are then the branch's."""
        return self.kind == "merge" and self.head == self.main


def events(files: Files, table: TablePath) -> list[MergeEvent]:
    """All events, oldest first. Raises `Corrupt`."""
    lines = (read_if_there(files, table.merges) or b"").splitlines()
    return [MergeEvent.from_json(line, table.merges) for line in lines if line.strip()]


def event_of(files: Files, table: TablePath, edit: RowsEdit) -> MergeEvent | None:
    """The event of the merge that gave a root these rows. Raises `Corrupt`."""
    of_it = (each for each in events(files, table) if (each.root, each.branch) == (edit.root, edit.branch))
    return next((each for each in of_it if each.kind == "merge" and each.main == edit.after), None)


class Merged(NamedTuple):
    """The last state of a branch that the target's rows have: its snapshot, and the target's with it.

    `is_taken_back`: a rollback removed later merges of the branch, and this state remains. After a
    fast-forward both lineages keep the branch's commits for good, so their fork tells nothing.
    """

    head: Point
    main: Point
    is_taken_back: bool = False


def merged(
    files: Files,
    target: Root,
    branch: str,
    known: Sequence[MergeEvent] | None = None,
    until_id: float = math.inf,
) -> Merged | None:
    """How much of the branch the target's rows have; None if it was never merged. Raises `Corrupt`.

    `known` are all events, if they were read. Only the target's commits up to `until_id` count.
    """
    until: int | None = None
    then: Point | None = None
    before: Merged | None = None
    known = events(files, target.table) if known is None else known
    for event in reversed([each for each in known if each.root == target.branch]):
        if event.main.id > until_id:
            continue
        if until is not None and event.main.id > until:
            if event.branch == branch and event.base_head and event.base_main:
                if event.is_forward and then and until > event.base_main.id:
                    # It went back to one of the branch's own commits.
                    return Merged(then, then, is_taken_back=True)
                before = Merged(event.base_head, event.base_main, is_taken_back=True)
        elif event.kind == "rollback":
            if not _is_given_up(files, target, event.main):
                until, then = event.to, event.then
        elif event.branch == branch and event.head is not None:
            return Merged(event.head, event.main)
    return before


def _is_given_up(files: Files, main: Root, commit: Point) -> bool:
    """Whether another engine rolled main back past the commit, so that its rollback is void.

    A commit that has expired is not given up: main passed its id, and no other commit has it. Nor is one of a
    branch that is gone: what was merged from it came to the target before.
    """
    lineage = Lineage(files, main)
    if not root_exists(files, main):
        return False
    if commit.id > (lineage.latest_id() or 0):
        return True
    path = main.snapshot(commit.id)
    [data] = files.read_many([path])
    return data is not None and not commit.is_lost and not commit.is_of(Snapshot.from_json(data, path))


def move(files: Files, main: Root, to: Root, after: int, until: float = math.inf) -> None:
    """Move the entries of commits after a snapshot to another root, which now has those commits."""
    known = events(files, main.table)

    def moved(each: MergeEvent) -> MergeEvent:
        if each.root == main.branch and after < each.main.id <= until:
            return msgspec.structs.replace(each, root=to.branch)
        return _called(each, main, to) if each.head and after < each.head.id <= until else each

    parted = {index: part for index, each in enumerate(known) if (part := _before(files, main, each, after))}
    now = list[MergeEvent]()
    for index, each in enumerate(known):
        now += [parted[index]] if index in parted and parted[index] not in known else []
        now.append(moved(each))
    if now != known:
        _write(files, main.table, now)


def _before(files: Files, main: Root, event: MergeEvent, after: int) -> MergeEvent | None:
    """The part of a fast-forward that stays, if main is parted in the midst of it."""
    start = event.base_main
    if event.root != main.branch or not event.is_forward or start is None or event.main.is_lost:
        return None
    if not start.id < after < event.main.id:
        return None
    [data] = files.read_many([main.snapshot(after)])
    if data is None:
        return None
    at = point_of(Snapshot.from_json(data, main.snapshot(after)))
    return msgspec.structs.replace(event, main=at, head=at)


def _called(event: MergeEvent, source: Root, target: Root) -> MergeEvent:
    """The merge of one root into a third one, as a merge of another root, which now has those commits."""
    if event.branch != source.label or event.root in (source.branch, target.branch):
        return event
    return msgspec.structs.replace(event, branch=target.label)


def hand_on(files: Files, source: Root, target: Root, until: float = math.inf) -> None:
    """Copy the entries of commits up to a snapshot to another root, which also has them. Idempotent.

    Without one it takes the place of the source, which is gone: what others have of that, they have of it.
    """
    known = events(files, source.table)
    if until == math.inf:
        named = [_called(each, source, target) for each in known]
        if named != known:
            _write(files, source.table, known := named)
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


def met(files: Files, table: TablePath, labels: Collection[str]) -> set[Root]:
    """The roots with which branches of these names were merged, either way: they may have pins of them."""
    found = set[Root]()
    for each in events(files, table):
        target = table.root(each.root)
        if each.branch and (each.branch in labels or target.label in labels):
            found |= {target, table.called(each.branch)}
    return found


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
