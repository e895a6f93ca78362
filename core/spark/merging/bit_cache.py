"""A cache of bits. They stay valid, because the data files of a group never change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from threading import Lock

from paimark.core.spark.merging.model import Bits, MergeGroup

# For each file `near` returns at most so many of the groups that it was in.
_NEAR = 8


class BitCache:
    """A cache of `most_bytes` that evicts the least recently used group. Thread-safe.

    The key is the merged files and the rules, not the snapshot, so two snapshots share the bits of a group
    that is in both.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._bits: OrderedDict[Hashable, tuple[MergeGroup, list[Bits]]] = OrderedDict()
        # By rules and file: the groups that it was in, the latest last.
        self._groups_of: dict[Hashable, list[Hashable]] = {}
        self._lock = Lock()

    def get(self, group: MergeGroup) -> list[Bits] | None:
        """The bits of each file, in the order of `group.files`; None if they are not cached."""
        identity = _identity(group)
        with self._lock:
            if identity not in self._bits:
                return None
            self._bits.move_to_end(identity)
            return self._bits[identity][1]

    def put(self, group: MergeGroup, bits: list[Bits]) -> None:
        identity = _identity(group)
        with self._lock:
            if identity in self._bits:
                self._remove(identity)
            self._bits[identity] = group, bits
            self._bytes += _bytes(bits)
            for file in _files(group):
                self._groups_of.setdefault(file, []).append(identity)
            while self._bytes > self._most:
                self._remove(next(iter(self._bits)))

    def near(self, group: MergeGroup) -> list[tuple[MergeGroup, list[Bits]]]:
        """Cached groups with the same rules that share files with this one, each once, the latest first."""
        with self._lock:
            keys: dict[Hashable, None] = {}
            for file in _files(group):
                keys.update(dict.fromkeys(reversed(self._groups_of.get(file, ())[-_NEAR:])))
            return [self._bits[identity] for identity in keys]

    def _remove(self, identity: Hashable) -> None:
        group, bits = self._bits.pop(identity)
        self._bytes -= _bytes(bits)
        for file in _files(group):
            self._groups_of[file].remove(identity)
            if not self._groups_of[file]:
                del self._groups_of[file]


def _bytes(bits: list[Bits]) -> int:
    return sum(each.words.nbytes for each in bits)


def _identity(group: MergeGroup) -> Hashable:
    return tuple(_files(group))


def _files(group: MergeGroup) -> Iterator[Hashable]:
    rules_key = _rules_key(group)
    return ((rules_key, file, group.rules.columns[file.schema_id]) for file in group.files)


def _rules_key(group: MergeGroup) -> Hashable:
    rules = group.rules
    deletes = rules.ignore_delete, rules.uncounted_deletes
    return rules.key_types, rules.sequence_types, rules.descending, deletes
