"""The model of changes: the rows that a merge must give."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from tests.simulation.formats import Identity, Rows
from tests.simulation.judging import view
from tests.simulation.world import World

_RETIRED = re.compile(r"retired-(.+)-\d{8}T\d{6}")
_RENAMED = re.compile(r"(.+)-r\d+")


class Sides(NamedTuple):
    """A branch at its base and now, main at its base and now."""

    base: Rows
    head: Rows
    main_base: Rows
    main: Rows


def keyed_merge(sides: Sides, *, branch_wins: bool) -> tuple[Rows, list[int]]:
    """Main's rows after the merge, and the conflicts: keys that both sides changed to different rows."""
    base, head, main_base, main = (dict(each) for each in sides)
    merged, conflicts = dict(main), []
    for key in sorted({*base, *head}):
        if base.get(key) == head.get(key):
            continue
        is_conflict = main_base.get(key) != main.get(key) and head.get(key) != main.get(key)
        if is_conflict:
            conflicts.append(key)
        if branch_wins or not is_conflict:
            merged.pop(key, None)
            if key in head:
                merged[key] = head[key]
    return tuple(sorted(merged.items())), conflicts


def unkeyed_merge(sides: Sides, *, removes: bool) -> Rows:
    """Main's rows with those that the branch added; with `removes`, without those that it removed."""
    base, head, main = Counter(sides.base), Counter(sides.head), Counter(sides.main)
    kept = main - (base - head) if removes else main
    return tuple(sorted((kept + (head - base)).elements()))


def expected_merge(world: World, main: Identity, branch: str, head: Identity, choice: str) -> list[Rows]:
    """The rows of main, or another target, after the merge of a branch at `head` into its commit `main`.

    Several, if the branches met before in other ways: then their newest common commit counts too.
    """
    found = []
    for base, main_base in merge_bases(world, main, branch, head):
        rows = Sides(*(world.commits[each].rows for each in (base, head, main_base, main)))
        if world.keyed:
            found.append(keyed_merge(rows, branch_wins=choice == "branch")[0])
        else:
            found.append(unkeyed_merge(rows, removes=choice == "branch"))
    return found


def merge_bases(world: World, main: Identity, branch: str, head: Identity) -> list[tuple[Identity, Identity]]:
    """The base by the merges of just this branch; with others merged into either, what all of them give."""
    if not world.merges_between:
        return [merge_base(world, main, branch, head)]
    found = [known for known in [world.commits[main].merged.get(first_name(branch))] if known is not None]
    for is_back in (False, True):
        # What was taken back can be merged again; else a rollback is a change as any other.
        common = _within(world, main, is_back=is_back) & _within(world, head)
        newest = [each for each in common if not any(each in _within(world, of) for of in common - {each})]
        found += [(each, each) for each in newest]
    return found


def _within(world: World, identity: Identity, *, is_back: bool = False) -> set[Identity]:
    """The commits that one has: those before it, or whose rows it has again, and those that were merged."""
    found, todo = set[Identity](), [identity]
    while todo:
        each = todo.pop()
        if each in found or each not in world.commits:
            continue
        found.add(each)
        commit = world.commits[each]
        before = commit.content if is_back else commit.parent
        todo += [at for at in (before, *(at for at, _ in commit.merged.values())) if at is not None]
    return found


def merge_base(world: World, main: Identity, branch: str, head: Identity) -> tuple[Identity, Identity]:
    """The base of a merge: the newest commit of the branch in main, and the commit of main that has it."""
    known = world.commits[main].merged.get(first_name(branch))
    if known is not None and world.descends(head, known[0]):
        return known
    fork = world.forks.get(first_name(branch))
    if fork is not None and not world.had(view.main_root(world.store), fork):
        # It was forked from another root, which was main then.
        fork = None
    mine, line = set(content_line(world, main)), world.ancestors(head)
    # Main may have been rolled back to before the fork: the branch did not change what main lost by that.
    shared = next(each for each in line if each in mine or each == fork)
    return shared, shared


def first_name(branch: str) -> str:
    """The name of a branch before it was retired or renamed."""
    found = _RETIRED.fullmatch(branch) or _RENAMED.fullmatch(branch)
    return first_name(found[1]) if found else branch


def another_name(branch: str, number: int) -> str:
    """A name for it that tells its first one."""
    return f"{branch}-r{number}"


def is_renamed(branch: str) -> bool:
    return _RENAMED.fullmatch(branch) is not None


def content_line(world: World, identity: Identity | None) -> list[Identity]:
    """The commit and the commits whose rows it continues, newest first."""
    found = []
    while identity is not None:
        found.append(identity)
        identity = world.commits[identity].content
    return found
