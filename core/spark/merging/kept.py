"""Bits that were made, kept while there is room: the data files of a group never change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from core.spark.merging.model import Bits, MergeGroup


class KeptBits:
    """At most so many bytes; what was used longest ago goes first. Any thread may use it.

    Bits go by the files that were merged and by how, not by snapshot: what two snapshots have in common is
    made once.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._bits: OrderedDict[Hashable, list[Bits]] = OrderedDict()
        self._lock = Lock()

    def get(self, group: MergeGroup) -> list[Bits] | None:
        """One `Bits` a file, in the order of `group.files`."""
        identity = _identity(group)
        with self._lock:
            bits = self._bits.get(identity)
            if bits is not None:
                self._bits.move_to_end(identity)
            return bits

    def put(self, group: MergeGroup, bits: list[Bits]) -> None:
        identity = _identity(group)
        with self._lock:
            self._bytes -= _bytes(self._bits.pop(identity, []))
            self._bits[identity] = bits
            self._bytes += _bytes(bits)
            while self._bytes > self._most:
                self._bytes -= _bytes(self._bits.popitem(last=False)[1])


def _bytes(bits: list[Bits]) -> int:
    return sum(each.words.nbytes for each in bits)


def _identity(group: MergeGroup) -> Hashable:
    rules = group.rules
    files = tuple((file.path, rules.columns[file.schema_id]) for file in group.files)
    deletes = rules.ignore_delete, rules.uncounted_deletes
    return rules.key_types, rules.sequence_types, rules.descending, deletes, files
