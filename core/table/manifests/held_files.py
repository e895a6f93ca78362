"""Find which of many states hold which files, decoding each manifest once.

A state is a set of manifests: it holds the files that these add and none of them deletes. Snapshots of one
table share most of their manifests, and most files have the same entries in all of them. So a file has only
the number of its fate: the list of its additions and deletions, which many files share. For any set of
states, however large, the fate is enough to tell whether one of them holds the file.

Sets of states are runs of their numbers: 2, 3, 4 and 9 are `[2, 5, 9, 10]`. A run is stored as its first
number and the number after its last. A file that stays in a lineage has few runs, however many snapshots
there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from paimark.core.table.manifests.manifests import FileFacts, FileKey

_KIND_BITS, _KEY_BITS = 1, 24
Runs = Sequence[int]


class Uses:
    """States by number, and the states that use each manifest, or any other thing with a name.

    States are numbered in the order of their creation, so those of one lineage should come in its order.
    """

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[str, int] = {}
        self._runs: list[list[int]] = []
        self._keeping: list[int] = []

    def new_state(self, *, keeps_deleted: bool = False) -> int:
        """`keeps_deleted`: the state holds all files that its manifests add, even those that they delete."""
        number, self.count = self.count, self.count + 1
        if keeps_deleted:
            add(self._keeping, number)
        return number

    def use(self, state: int, name: str) -> None:
        """Record that a state uses something; it is fast if the states of one thing come in their order."""
        add(self._runs[self.number(name)], state)

    def number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._runs)
            self._runs.append([])
        return number

    def users(self, name: str) -> Runs:
        """The states that use the thing with this name."""
        number = self._numbers.get(name)
        return () if number is None else self._runs[number]

    def users_of(self, number: int) -> Runs:
        """The states that use the thing with this number."""
        return self._runs[number]

    @property
    def keeping(self) -> Runs:
        """The states that hold all files that their manifests add."""
        return self._keeping


@dataclass(slots=True)
class FoldedFile:
    """A data file that a manifest names. `size` in bytes; `rows` are records, of a key unmerged."""

    key: FileKey
    size: int
    rows: int
    schema_id: int
    fate: int = 0


class FileStates(NamedTuple):
    """The states that use manifests which add a file, and those that use manifests which delete it.

    In the states among `keeping`, a deletion does not count.
    """

    added: Runs
    deleting: Runs
    keeping: Runs

    @property
    def deleted(self) -> Runs:
        """The states in which it is deleted."""
        return minus(self.deleting, self.keeping)

    @property
    def holding(self) -> Runs:
        """The states that hold it."""
        return minus(self.added, self.deleted)


class Fold:
    """The files of many states, by name. A name may stand for several files: a manifest may hold anything."""

    def __init__(self, uses: Uses) -> None:
        self.files: dict[str, FoldedFile] = {}
        self._uses = uses
        self._keys: dict[FileKey, FileKey] = {}
        # Further keys of a name (mostly with another level) than its first one.
        self._others: dict[str, list[FileKey]] = {}
        self._fates: list[tuple[int, ...]] = [()]
        self._next: dict[tuple[int, int], int] = {}
        self._states: dict[int, Mapping[int, FileStates]] = {}
        self._expected: set[str] = set()

    def take(
        self, manifest: str, entries: Iterable[FileFacts], *, added: bool = True, deleted: bool = True
    ) -> tuple[int, int]:
        """Take in the entries of a manifest; return how many files it adds and deletes.

        `added`, `deleted`: whether entries of that kind count for files that no entry has named before.
        """
        number = self._uses.number(manifest)
        counts = [0, 0]
        for entry in entries:
            counts[entry.is_added] += 1
            file = self.files.get(entry.name)
            if file is None:
                if not (added if entry.is_added else deleted) and entry.name not in self._expected:
                    continue
                key = self._keys.setdefault(entry.key, entry.key)
                file = self.files[entry.name] = FoldedFile(key, entry.size, entry.rows, entry.schema_id)
            event = ((number << _KEY_BITS | self._key_number(entry, file)) << _KIND_BITS) | entry.is_added
            file.fate = self._after(file.fate, event)
        return counts[True], counts[False]

    def expect(self, names: Iterable[str]) -> None:
        """From now on, also count the entries of these files."""
        self._expected.update(names)

    def forget_states(self) -> None:
        """Call it after states or uses were added: the holders must be computed again."""
        self._states.clear()

    def holders(self, name: str, file: FoldedFile) -> Iterator[tuple[FileKey, Runs]]:
        """Each key of the file with the states that hold it under that key, if any."""
        for number, change in self.states_of(file.fate).items():
            if holding := change.holding:
                yield self.key(name, file, number), holding

    def key(self, name: str, file: FoldedFile, number: int) -> FileKey:
        """The key of a file with this number."""
        return self._others[name][number - 1] if number else file.key

    def states_of(self, fate: int) -> Mapping[int, FileStates]:
        """The states of files with this fate, by the numbers of their keys."""
        gathered = self._states.get(fate)
        if gathered is None:
            gathered = self._states[fate] = self._gathered(self._fates[fate])
        return gathered

    def _key_number(self, entry: FileFacts, file: FoldedFile) -> int:
        if entry.key == file.key:
            return 0
        others = self._others.setdefault(entry.name, [])
        if entry.key not in others:
            others.append(entry.key)
        return others.index(entry.key) + 1

    def _after(self, fate: int, event: int) -> int:
        fate_after = self._next.get((fate, event))
        if fate_after is None:
            fate_after = self._next[fate, event] = len(self._fates)
            self._fates.append((*self._fates[fate], event))
        return fate_after

    def _gathered(self, events: tuple[int, ...]) -> Mapping[int, FileStates]:
        added: dict[int, list[Runs]] = {}
        deleted: dict[int, list[Runs]] = {}
        for event in events:
            number, key = divmod(event >> _KIND_BITS, 1 << _KEY_BITS)
            states = added if event & 1 else deleted
            states.setdefault(key, []).append(self._uses.users_of(number))
        return {
            key: FileStates(union(added.get(key, [])), union(deleted.get(key, [])), self._uses.keeping)
            for key in sorted(added.keys() | deleted.keys())
        }


def add(runs: list[int], number: int) -> None:
    """Add a number. It is fast if the number is not smaller than those in the set."""
    if not runs or number > runs[-1]:
        runs += (number, number + 1)
    elif number == runs[-1]:
        runs[-1] = number + 1
    elif number < runs[-1] - 1:
        runs[:] = union([runs, (number, number + 1)])


def union(sets: Sequence[Runs]) -> Runs:
    """All numbers of any of the sets."""
    if len(sets) <= 1:
        return sets[0] if sets else ()
    bounds: list[int] = []
    for start, end in sorted(pair for runs in sets for pair in _pairs(runs)):
        if not bounds or start > bounds[-1]:
            bounds += (start, end)
        elif end > bounds[-1]:
            bounds[-1] = end
    return bounds


def minus(left: Runs, right: Runs) -> Runs:
    """The numbers of `left` that are not in `right`."""
    if not right:
        return left
    bounds: list[int] = []
    gaps = list(_pairs(right))
    position = 0
    for start, end in _pairs(left):
        while position < len(gaps) and gaps[position][1] <= start:
            position += 1
        following = position
        while following < len(gaps) and gaps[following][0] < end:
            if gaps[following][0] > start:
                bounds += (start, gaps[following][0])
            start = gaps[following][1]
            following += 1
        if start < end:
            bounds += (start, end)
    return bounds


def both(left: Runs, right: Runs) -> Runs:
    """The numbers that are in both."""
    return minus(left, minus(left, right))


def meet(left: Runs, right: Runs) -> bool:
    """Whether any number is in both."""
    mine, theirs = list(_pairs(left)), list(_pairs(right))
    while mine and theirs:
        if mine[-1][0] < theirs[-1][1] and theirs[-1][0] < mine[-1][1]:
            return True
        (mine if mine[-1][0] >= theirs[-1][0] else theirs).pop()
    return False


def members(runs: Runs) -> Iterator[int]:
    """The numbers, ascending."""
    for start, end in _pairs(runs):
        yield from range(start, end)


def _pairs(runs: Runs) -> Iterator[tuple[int, int]]:
    return zip(runs[::2], runs[1::2], strict=True)
