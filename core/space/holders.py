"""The rows of a space report: the versions that belong to each, and those that go when it is deleted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from paimark.core.actions.garbage import release_pins
from paimark.core.actions.plan_wording import consumers_of
from paimark.core.errors import Corrupt
from paimark.core.space.report import SpaceKind
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, TAG_PREFIX, Root, TablePath, savepoint_tag
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.held_files import Runs
from paimark.core.table.names import is_archive, is_safe_name
from paimark.core.table.records import Consumer
from paimark.core.verify.needed_files import NeededState
from paimark.core.verify.versions import StoredVersion, Versions, same_state

_PIN = re.compile(r"paimark\.(?:merge|truncate)\.(.+)\.\d+", re.DOTALL)


class Holder(NamedTuple):
    """`paths` are those of the versions that it is, or that go when it is deleted. A savepoint's paths are
    also in the rows of branches that have copies of its tag. `is_part`: all of them are in another row too.
    `snapshot_id` is that of a tag, a savepoint, and of main's newest."""

    kind: SpaceKind
    name: str
    branch: str | None
    paths: frozenset[str]
    is_part: bool = False
    snapshot_id: int | None = None


def holders(files: Files, table: TablePath, there: Versions) -> list[Holder]:
    """Each version is in a row that is no part. Raises `Corrupt` if main can't be determined."""
    main, own = main_root(files, table), table.root()
    of_roots = _by_root(there)
    others = [root for root in of_roots if root not in (main, own)]
    pins = {root: _pins(files, main, root, of_roots) for root in others}
    savepoints = list(_savepoints(main, there, of_roots))
    taken = frozenset().union(*(each.paths for each in savepoints), *pins.values())
    left = {root: [each for each in listed if each.path not in taken] for root, listed in of_roots.items()}
    made = [*_of_main(files, main, left), *savepoints]
    for root in others:
        made += _of_branch(files, root, of_roots[root], taken, pins[root])
    if main != own:
        made.append(_guards(left.get(own, ()), made))
    return [each for each in made if each.paths]


def _by_root(there: Versions) -> dict[Root, list[StoredVersion]]:
    roots = {part: root for root in there.roots for part in (root.snapshots, root.tags, root.changelogs)}
    of_roots: dict[Root, list[StoredVersion]] = {root: [] for root in there.roots}
    for version in there.all:
        if version.kind != "savepoint":
            of_roots[roots[version.path.rpartition("/")[0]]].append(version)
    return of_roots


def _savepoints(main: Root, there: Versions, of_roots: dict[Root, list[StoredVersion]]) -> Iterator[Holder]:
    """Savepoints with their tags in all roots: a branch that was made from one has a copy."""
    tags: dict[str, dict[Root, str]] = defaultdict(dict)
    for root, listed in of_roots.items():
        for each in _kind_of("tag", listed):
            tags[_name(each)][root] = each.path
    for each in there.all:
        if each.savepoint is not None:
            name = savepoint_tag(each.savepoint.id)
            # Main, if it has the tag.
            home = next(iter(sorted(tags[name], key=lambda root: root != main)), None)
            branch = each.savepoint.branch if home is None else home.branch
            paths = frozenset([each.path, *tags[name].values()])
            yield Holder("savepoint", name, branch, paths, snapshot_id=each.savepoint.saved_snapshot_id)


def _of_main(files: Files, main: Root, left: dict[Root, list[StoredVersion]]) -> Iterator[Holder]:
    listed = left.get(main, [])
    snapshots, name = _kind_of("snapshot", listed), main.branch or MAIN
    yield _row("main", f"{name}, newest snapshot", main, snapshots[-1:])
    yield _row("older", f"{name}, older snapshots", main, snapshots[:-1])
    yield _row("changelogs", f"{name}, changelogs", main, _kind_of("changelog", listed))
    guards = left.get(main.table.root(), []) if main.branch is not None else []
    for tag in _kind_of("tag", listed):
        same = [each for each in guards if _name(each) == _name(tag) and same_state(each) == same_state(tag)]
        yield _row("tag", _name(tag), main, [tag, *same])
    yield from _consumers(files, main, snapshots[:-1])


def _of_branch(
    files: Files,
    root: Root,
    listed: Sequence[StoredVersion],
    taken: Collection[str],
    pins: frozenset[str],
) -> Iterator[Holder]:
    """The branch with all that is in it, its tags again, and the snapshots that it keeps for consumers."""
    snapshots, tags = _kind_of("snapshot", listed), _kind_of("tag", listed)
    branch = _row("past" if is_archive(root.label) else "branch", root.label, root, [*snapshots, *tags])
    yield branch._replace(paths=branch.paths | pins)
    yield _row("changelogs", f"{root.label}, changelogs", root, _kind_of("changelog", listed))
    for tag in tags:
        if tag.path not in taken:
            yield _row("tag", _name(tag), root, [tag])._replace(is_part=True)
    yield from _consumers(files, root, snapshots[:-1])


def _pins(files: Files, main: Root, root: Root, of_roots: dict[Root, list[StoredVersion]]) -> frozenset[str]:
    """Main's tags that go with the branch, because they keep only snapshots on which it depends."""
    names = [found[1] for each in of_roots.get(main, ()) if (found := _PIN.fullmatch(_name(each)))]
    if not any(name in root.label for name in names):
        return frozenset()
    try:
        pins = release_pins.released(files, main, root.label)
    except Corrupt:
        # In this case its deletion is refused.
        return frozenset()
    return release_pins.pins_to_delete(main, pins).paths if pins else frozenset()


def _consumers(files: Files, root: Root, snapshots: Sequence[StoredVersion]) -> Iterator[Holder]:
    """The older snapshots that stock expiry keeps for a registered reader."""
    names = [name for name in consumers_of(files, root) if is_safe_name(name)]
    paths = [root.consumer(name) for name in names]
    for name, path, data in zip(names, paths, files.read_many(paths), strict=True):
        try:
            first = None if data is None else Consumer.from_json(data, path).next_snapshot
        except Corrupt:
            continue
        kept = [
            each.path for each in snapshots if first is not None and each.record and each.record.id >= first
        ]
        yield Holder("consumer", name, root.branch, frozenset(kept), is_part=True)


def _guards(left: Sequence[StoredVersion], made: Sequence[Holder]) -> Holder:
    known = {path for each in made for path in each.paths}
    paths = frozenset(each.path for each in left if each.path not in known)
    return Holder("guards", "in the table directory", None, paths)


def _row(kind: SpaceKind, name: str, root: Root, versions: Sequence[StoredVersion]) -> Holder:
    record = versions[0].record if len(versions) == 1 or kind == "tag" else None
    number = record.id if record and kind in ("main", "tag") else None
    return Holder(kind, name, root.branch, frozenset(each.path for each in versions), snapshot_id=number)


def _kind_of(kind: str, versions: Sequence[StoredVersion]) -> list[StoredVersion]:
    return [each for each in versions if each.kind == kind]


def _name(version: StoredVersion) -> str:
    """The name of a tag."""
    return version.path.rpartition("/")[2].removeprefix(TAG_PREFIX)


class _Bits(NamedTuple):
    """For a state, a bit for each row: the rows that hold it, and those whose deletion would delete it."""

    held: int
    going: int


@dataclass(slots=True)
class Count:
    """Files and bytes."""

    files: int = 0
    bytes: int = 0

    def add(self, files: int, size: int) -> None:
        self.files += files
        self.bytes += size


@dataclass
class Counts:
    """For each row, what it holds and what goes with it; `alone` goes with any row, `shared` is the rest."""

    held: list[Count]
    going: list[Count]
    alone: Count = field(default_factory=Count)
    shared: Count = field(default_factory=Count)


def counted(
    rows: Sequence[Holder],
    states: Sequence[NeededState],
    sizes: Mapping[tuple[int, ...], Count],
    powerless: Collection[str] = (),
) -> Counts:
    """`sizes` are files and bytes by the states that need them, as runs; `powerless` are paths of versions
    that keep no file from being deleted."""
    counts = Counts([Count() for _ in rows], [Count() for _ in rows])
    whole = sum(1 << number for number, row in enumerate(rows) if not row.is_part)
    spans = _Spans(rows, states, powerless)
    for users, each in sizes.items():
        bits = spans.of(users)
        for row in _ones(bits.held):
            counts.held[row].add(each.files, each.bytes)
        for row in _ones(bits.going):
            counts.going[row].add(each.files, each.bytes)
        (counts.alone if bits.going & whole else counts.shared).add(each.files, each.bytes)
    return counts


class _Spans:
    """Neighbouring states with the same bits are one span: a lineage has few, however long it is."""

    def __init__(
        self, rows: Sequence[Holder], states: Sequence[NeededState], powerless: Collection[str]
    ) -> None:
        self._starts: list[int] = []
        self._bits: list[_Bits] = []
        number = 0
        for bits, alike in groupby(_bits_of(rows, states, powerless)):
            self._starts.append(number)
            self._bits.append(bits)
            number += sum(1 for _ in alike)

    def of(self, users: Runs) -> _Bits:
        """The rows that hold any of the states, and those whose deletion would delete all of them."""
        held, going = 0, -1
        for start, end in zip(users[::2], users[1::2], strict=True):
            first = bisect_right(self._starts, start) - 1
            last = bisect_right(self._starts, end - 1)
            for bits in self._bits[first:last]:
                held, going = held | bits.held, going & bits.going
        return _Bits(held, going & held)


def _bits_of(
    rows: Sequence[Holder], states: Sequence[NeededState], powerless: Collection[str]
) -> list[_Bits]:
    rows_of: dict[str, int] = {}
    for number, row in enumerate(rows):
        for path in row.paths:
            rows_of[path] = rows_of.get(path, 0) | 1 << number
    made = []
    for state in states:
        held, going = 0, -1
        for version in state.versions:
            its_rows = rows_of.get(version.path, 0)
            held |= its_rows
            if version.path not in powerless:
                going &= its_rows
        made.append(_Bits(held, going))
    return made


def _ones(bits: int) -> list[int]:
    """The numbers of the bits that are set."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
