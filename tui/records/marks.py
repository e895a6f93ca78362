"""Rows that are marked for a comparison or an action, and the order of two marks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted
from paimark.core.table.layout import MAIN
from paimark.core.table.records import Snapshot
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.named_keys import delete_key, key, mark_key, unmark_key
from paimark.tui.session import Target


class Mark(msgspec.Struct, frozen=True):
    """A version of the shown table. `snapshot_id` and `commit_time` are None for the head of a branch."""

    requested: RequestedVersion
    snapshot_id: int | None = None
    commit_time: int | None = None

    @property
    def label(self) -> str:
        branch, version = self.requested.branch, self.requested.version
        return ":".join(part for part in (branch, version) if part) or MAIN


def toggled(marks: Sequence[Mark], mark: Mark) -> list[Mark]:
    if mark in marks:
        return [each for each in marks if each != mark]
    return [*marks, mark]


def marked_words(marks: Sequence[Mark]) -> str:
    """A sentence about the marked rows, and the keys for them."""
    if not marks:
        return "Nothing is marked"
    if len(marks) > 2:
        away = f"{unmark_key()} takes the marks away"
        return f"{_count(marks)}: {_acting(marks, 'all')}{_comparing()} compares two, {away}"
    labels = " and ".join(each.label for each in marks)
    more = (
        f"{_comparing()} shows the difference, {_acting(marks, 'both')}".removesuffix(", ")
        if len(marks) == 2
        else f"{_comparing()} on another row: the difference"
    )
    return f"Marked {labels}: {more}"


def why_not_one(marks: Sequence[Mark], here: Mark | None) -> str:
    """The reason why an action on one row is refused: others are marked. Empty if it is allowed."""
    if not marks or list(marks) == [here]:
        return ""
    if len(marks) == 1:
        return f"{_count(marks)}, and this acts on another: {unmark_key()} takes the mark away"
    return f"{_count(marks)}, and this acts on one: {unmark_key()} takes the marks away"


def why_no_pair(marks: Sequence[Mark]) -> str:
    """A hint if there are not two rows to compare."""
    if len(marks) > 2:
        return f"{_count(marks)}: {_comparing()} compares two, {mark_key()} takes a mark away"
    return f"Mark two rows with {mark_key()}, or go to a branch, then {_comparing()}"


def _acting(marks: Sequence[Mark], all_of_them: str) -> str:
    """`s t x act on all, `. Heads of branches are not saved or tagged together, and snapshots not deleted."""
    keys = []
    if all(mark.snapshot_id is not None for mark in marks):
        keys += [key("act.savepoint"), key("act.tag")]
    if not any((mark.requested.version or "").startswith("snapshot.") for mark in marks):
        keys.append(delete_key())
    return f"{' '.join(keys)} act{'s' if len(keys) == 1 else ''} on {all_of_them}, " if keys else ""


def _comparing() -> str:
    return key("browse.diff")


def _count(marks: Sequence[Mark]) -> str:
    return f"{counted(len(marks), 'row')} {'is' if len(marks) == 1 else 'are'} marked"


def mark_of(target: Target, version: RowVersion | None) -> Mark | None:
    """The mark of a row; None for a row without a version or a branch."""
    if version is None or version == RowVersion():
        return None
    if version.version is None:
        if version.branch is None:
            return None
        return Mark(RequestedVersion(None if version.branch == MAIN else version.branch))
    branch = target.branch if version.branch is None else version.branch
    requested = RequestedVersion(None if branch == MAIN else branch, version.version)
    return Mark(requested, version.snapshot_id, version.commit_time)


def pair_to_compare(marks: list[Mark], here: Mark | None) -> tuple[Mark, Mark] | None:
    """The old and the new version: two marks, or one mark and the row under the cursor.

    Without marks: main and the branch under the cursor, or a version and the head of its branch.
    """
    if len(marks) == 2:
        return _in_order(*marks)
    if here is None or len(marks) > 2:
        return None
    if len(marks) == 1:
        return _in_order(marks[0], here) if marks[0] != here else None
    head = Mark(RequestedVersion(None if here.requested.version is None else here.requested.branch))
    return _in_order(head, here) if head != here else None


def pair_of_change(here: Mark | None) -> tuple[Mark, Mark] | None:
    """The snapshot before that of a row, and that of the row; None if it has none, or the first."""
    if here is None or here.snapshot_id is None or here.snapshot_id <= 1:
        return None
    before = here.snapshot_id - 1
    return Mark(RequestedVersion(here.requested.branch, f"snapshot.{before}"), before), here


def why_no_change(here: Mark | None) -> str:
    if here is None or here.snapshot_id is None:
        return f"Go to a snapshot: {key('browse.diff_before')} shows the rows that it changed"
    return f"{here.label} is the first: all its rows are new, {key('browse.peek')} shows some"


def moved_on(mark: Mark, snapshot: Snapshot | None) -> str:
    """A sentence if the snapshot is not the marked one, because its id was used again; else empty."""
    if mark.commit_time is None or snapshot is None:
        return ""
    if (snapshot.id, snapshot.time_millis) == (mark.snapshot_id, mark.commit_time):
        return ""
    return f"{mark.label} is another commit now: look at it, and mark it again"


def _in_order(left: Mark, right: Mark) -> tuple[Mark, Mark]:
    """On one branch the older first; of two heads main first; else in the order of marking."""
    if left.requested.branch == right.requested.branch:
        newest = float("inf")
        ids = [newest if each.snapshot_id is None else each.snapshot_id for each in (left, right)]
        return (right, left) if ids[0] > ids[1] else (left, right)
    is_main = right.requested == RequestedVersion() and left.requested.version is None
    return (right, left) if is_main else (left, right)
