"""A cache of decoded manifests, of limited size. An entry never becomes stale: a manifest never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import FileMissing
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.manifests.manifests import (
    ManifestEntry,
    ManifestMeta,
    manifest_entries,
    read_in_batches,
)

# The measured size of an entry in memory, without the values of its statistics.
_ENTRY_BYTES = 1_800
# Fields of a file's record that no caller needs.
_UNUSED = ("_KEY_STATS", "_CREATION_TIME", "_FIRST_ROW_ID")

Entries = tuple[ManifestEntry, ...]


class ManifestId(NamedTuple):
    """A manifest of one table: two of these are equal only if the manifests have the same bytes.

    Writers give each manifest a unique name; the other fields come from its manifest list.
    """

    name: str
    size: int
    entries: tuple[int, int] | None
    schema_id: int

    @classmethod
    def of(cls, meta: ManifestMeta) -> ManifestId:
        return cls(meta.file_name, meta.file_size, meta.entries, meta.schema_id)


class DecodedManifests:
    """A least-recently-used cache of about `most_bytes` bytes at most. For one thread."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str, ManifestId], tuple[Entries, int]] = OrderedDict()

    def read(
        self, files: Files, table: TablePath, manifests: Sequence[ManifestId]
    ) -> Iterator[tuple[ManifestId, Entries]]:
        """Each manifest with its entries, in any order. Raises `FileMissing` and `Corrupt`."""
        missing = {}
        for each in manifests:
            key = files.uri, table.directory, each
            if key in self._kept:
                self._kept.move_to_end(key)
                yield each, self._kept[key][0]
            else:
                missing[table.manifest(each.name)] = each
        for path, data in read_in_batches(files, {path: each.size for path, each in missing.items()}):
            check_cancelled()
            if data is None:
                raise FileMissing(path)
            entries = tuple(map(_without_unused, manifest_entries(data, path)))
            self._keep((files.uri, table.directory, missing[path]), entries)
            yield missing[path], entries

    def _keep(self, key: tuple[str, str, ManifestId], entries: Entries) -> None:
        weight = sum(map(_weight, entries))
        self._kept[key] = entries, weight
        self._bytes += weight
        while self._bytes > self._most:
            self._bytes -= self._kept.popitem(last=False)[1][1]


def _without_unused(entry: ManifestEntry) -> ManifestEntry:
    file = dict(entry.file)
    for name in _UNUSED:
        file.pop(name, None)
    return ManifestEntry({**entry.record, "_FILE": file})


def _weight(entry: ManifestEntry) -> int:
    statistics = entry.file.get("_VALUE_STATS") or {}
    return _ENTRY_BYTES + sum(map(len, filter(None, statistics.values())))
