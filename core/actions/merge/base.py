"""The base of a merge: the newest state that both sides have, and the target's state with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from paimark.core.actions import plan_wording
from paimark.core.actions.merge.ancestry import Ancestry
from paimark.core.actions.merge.history import Merged, MergeEvent, events, merged
from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.figures import listed
from paimark.core.quoting import quoted, quoted_if_needed, shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.manifests.chain import comes_from
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.names import is_archive
from paimark.core.table.records import Point, Snapshot, point_of
from paimark.core.text import lowered


class Base(NamedTuple):
    """`state` is what the target already has of the branch, `target_state` the target's state that has it.

    `root` reads the state: another than the branch's if that has the state from others.
    """

    state: Snapshot
    root: Root
    target_state: Snapshot


def place_of(files: Files, root: Root) -> str:
    """`main`, or `branch fix`, as it is now."""
    return plan_wording.place_of(root, is_main=root == main_root(files, root.table))


def base_of(files: Files, target: Side, branch: Side, head: Snapshot | None = None) -> Base:
    """The base of a merge of the branch, up to `head` of it or its newest.

    Raises `Refused` if nothing tells it, or if no single state is the newest that both have; `Corrupt`.
    """
    known, main = events(files, target.root.table), main_root(files, target.root.table)
    if target.root == main and all(_was_main(main, each.root) for each in known):
        # Nothing was ever merged but into main: no other branch has anything of this one.
        return _by_name(files, target, branch, known)
    head, newest = head or branch.lineage.latest(), target.lineage.latest()
    if head is None or newest is None:
        raise no_common_past(files, target, branch)
    ancestry = Ancestry(files, target.root.table, known, target, branch)
    found: Base | Refused
    try:
        found = _by_name(files, target, branch, known)
    except Refused as error:
        found = error
    by_merge = merged(files, target.root, branch.root.label, known)
    besides = None
    if by_merge is not None and isinstance(found, Base) and not by_merge.head.is_of(found.state):
        # That was another branch of this name.
        by_merge, besides = None, (target.root.label, branch.root.label)
    has = ancestry.has(target.root.label, point_of(newest), besides)
    brings = ancestry.has(branch.root.label, point_of(head))

    def counts(point: Point) -> bool:
        """What the target took back can come again, though its own history has it, after a fast-forward."""
        if by_merge is None or not by_merge.is_taken_back:
            return True
        kept = has.get(branch.root.label, by_merge.head)
        return point.id <= kept.id or not ancestry.is_in(branch.root.label, point)

    common = ancestry.newest_common(has, brings, ancestry.shared(target, branch, has, brings), counts)
    if len(common) > 1:
        names = listed([f"{label} up to snapshot {each.id}" for label, each in common.items()], "branch")
        place = place_of(files, target.root)
        raise Refused(
            f"Branch {branch.root.label} and {place} of {target.root.table.full_name} both have {names}, and "
            "none of these has the other: what only the branch changed can't be told",
            "Write its rows yourself, or replace main with the branch.",
        )
    [(label, point)] = common.items() or [("", None)]
    if point is None or (isinstance(found, Base) and point.is_of(found.state)):
        return _or_raised(found)
    for side in filter(None, (branch, ancestry.side(label), target)):
        there = side.record(point.id)
        if there is not None and point.is_of(there):
            return Base(there, side.root, there)
    raise Refused(
        f"Snapshot {point.id} of {label} of {target.root.table.full_name}, the newest state that both have, "
        "is gone",
        "What came since can't be told: replace main with the branch, or write the rows yourself.",
    )


def _was_main(main: Root, branch: str | None) -> bool:
    """Whether it is main, the table directory, or an archive of what was main."""
    return branch in (main.branch, None) or is_archive(branch)


def _or_raised(found: Base | Refused) -> Base:
    if isinstance(found, Refused):
        raise found
    return found


def _by_name(files: Files, target: Side, branch: Side, record: Sequence[MergeEvent]) -> Base:
    """By the merges of just this branch into just this target, else by their fork."""
    files, table, name = target.lineage.files, target.root.table, branch.root.label
    place, known = place_of(files, target.root), merged(files, target.root, name, record)
    if known is not None and known.head.is_lost:
        # Main's tags that protect the branch would make main's lineage look longer than it is.
        raise Refused(
            f"How far branch {name} is merged into {place} of {table.full_name} can't be told: a merge was "
            f"interrupted, and snapshot {known.main.id} of {place} expired before it was recovered",
            f"{_instead(place)}, or write the rows yourself.",
        )
    main = _main_side(files, target, branch)
    fork = _fork(main, target, branch)
    if known is not None and _is_another(target, branch, known, fork):
        known = None
    if known is not None:
        at_head, at_target = branch.record(known.head.id), target.record(known.main.id)
        if at_head is None and known.head == known.main and _went_on(branch, known, fork):
            # A fast-forward pinned the branch's snapshot in the target.
            at_head = at_target
        if at_head is None or (branch is main and not known.head.is_of(at_head)):
            raise Refused(
                f"Snapshot {known.head.id} of branch {name} of {table.full_name}, merged last, is gone",
                f"What came since can't be told: {lowered(_instead(place))}, or write the rows yourself.",
            )
        if known.head.is_of(at_head):
            if at_target is None or not known.main.is_of(at_target):
                raise Refused(
                    f"Snapshot {known.main.id} of {place} of {table.full_name}, made by the last merge, is "
                    "gone",
                    f"What {place} changed since can't be told: write the rows yourself.",
                )
            return Base(at_head, branch.root, at_target)
        # Else another branch of this name.
    number, sides = fork.snapshot_id, (branch, target, main)
    there = None if number is None else next((each for side in sides if (each := side.record(number))), None)
    if there is None:
        raise no_common_past(files, target, branch)
    return Base(there, branch.root, there)


def _instead(place: str) -> str:
    return "Replace main with the branch" if place == "main" else f"Make {place} anew"


def _main_side(files: Files, target: Side, branch: Side) -> Side:
    main = main_root(files, target.root.table)
    sides = {each.root: each for each in (target, branch)}
    return sides.get(main) or Side(files, main, ancestors_only=True)


def _fork(main: Side, target: Side, branch: Side) -> Fork:
    """Two branches have at least what both have of main."""
    if main is target or main is branch:
        return find_fork(main, branch if main is target else target)
    fork = find_fork(target, branch)
    if fork.is_proven:
        return fork
    both = [find_fork(main, each).snapshot_id for each in (target, branch)]
    first, second = both
    if first is None or second is None:
        return Fork(None, None, None, is_proven=False)
    return Fork(min(first, second), None, None, is_proven=False)


def _is_another(main: Side, branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the merged branch was another one of this name, which has been deleted since."""
    if not fork.is_proven or fork.snapshot_id is None:
        return False
    if not known.is_taken_back and fork.snapshot_id >= known.main.id:
        # This branch was made from main when main had the merge already.
        return True
    if known.is_taken_back and _parts_later(branch, known, fork):
        # This branch was made from main before the merge was taken back, and has the tag of that snapshot.
        first = min(branch.known_ids)
        return first == fork.snapshot_id and any(tag.id == first for tag in branch.tags.values())
    # After a fast-forward along the other branch, both would have the same snapshots up to this one's newest.
    went_along = known.head == known.main and (branch.latest_id or 0) < known.head.id
    common = main.known_ids & branch.known_ids
    return went_along and any(number > fork.snapshot_id for number in common)


def _parts_later(branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the branch has everything from the fork on, but not the snapshot that was merged."""
    return known.head.id not in branch.known_ids and (fork.snapshot_id or 0) > known.head.id


def _went_on(branch: Side, known: Merged, fork: Fork) -> bool:
    """Whether the branch seems to have expired the merged snapshot since."""
    is_later = (branch.latest_id or 0) > known.head.id
    return is_later and not (known.is_taken_back and _parts_later(branch, known, fork))


def no_common_past(files: Files, target: Side, branch: Side) -> Refused:
    """The refusal of a merge of such a branch, for example rescued commits: it may hold only a few rows."""
    table, name, place = branch.root.table, branch.root.label, place_of(files, target.root)
    hint = (
        "Their common past has expired, or one was rolled back past it. See `paimark "
        f"{shell_line(['diff', table.full_name, target.root.label, name])}`: write the rows yourself, or "
        "replace main with the branch if it has all rows that you want to keep."
    )
    with suppress(Corrupt, FileMissing):
        hint = _advice(files, branch) or hint
    return Refused(f"Branch {name} of {table.full_name} has no known fork from {place}", hint)


def _advice(files: Files, branch: Side) -> str | None:
    table, root = branch.root.table, branch.root
    # Another process may move it away meanwhile.
    first = branch.record(branch.snapshot_ids[0]) if branch.snapshot_ids else None
    if first is None:
        return None
    if not read_manifest_list(files, table.manifest(first.base_manifest_list)):
        source = f"{quoted_if_needed(table.database)}.{quoted(f'{table.name}$branch_{root.label}')}"
        return (
            f"It holds only what was committed to it. Add that: INSERT INTO {table.full_name} SELECT * FROM "
            f"{source}. Replacing main with the branch would leave main those rows alone."
        )
    if (origin := _origin(files, root, first)) is not None:
        words = shell_line(["diff", table.full_name, origin.label, root.label])
        return (
            f"It goes on from snapshot {first.id - 1} of {origin.label}: `paimark {words}` shows what it "
            "changed. Write those rows yourself."
        )
    return None


def _origin(files: Files, branch: Root, first: Snapshot) -> Root | None:
    """The root with the snapshot on which the branch's first snapshot was committed."""
    for root in all_roots(files, branch.table):
        before = Side(files, root).record(first.id - 1) if root != branch else None
        if before is not None and comes_from(files, branch.table, first, before):
            return root
    return None
