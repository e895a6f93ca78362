"""Records, files and bytes of a branch over time, from its snapshots and from those that tags keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from paimark.core.errors import Corrupt, PaimarkError
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import manifest_list_paths
from paimark.core.table.manifests.manifests import ManifestMeta, file_facts, manifest_facts, read_in_batches
from paimark.core.table.records import Snapshot, read_records

# As many snapshots as a chart has columns; of more, some between the oldest and the newest are chosen.
MOST_POINTS = 160
# The most bytes of manifests to read for the bytes of data files: a second's work.
_MOST_MANIFESTS = 2 << 20


class State(NamedTuple):
    """A snapshot: its commit time (epoch ms), records, data files and their bytes.

    None if unknown.
    """

    snapshot_id: int
    time_ms: int
    records: int | None
    files: int | None
    bytes: int | None


class OverTime(NamedTuple):
    """`states` by id, of `total` snapshots. `untold_bytes` is the size of the manifests that would have to be
    read to know the bytes of data files; 0 if they were read."""

    states: Sequence[State]
    total: int
    untold_bytes: int


def over_time(files: Files, root: Root, most: int = MOST_POINTS) -> OverTime:
    """Reads two small files per snapshot, and the manifests if they are small; skips unreadable snapshots.

    Raises `NotFound`, `Unavailable`.
    """
    lineage = Lineage(files, root)
    kept = {tag.id: tag for _, tag in lineage.tags()}
    ids = lineage.snapshot_ids()
    all_ids = sorted({*ids, *kept})
    chosen = set(_spread(all_ids, most))
    paths = [root.snapshot(each) for each in ids if each in chosen]
    snapshots: dict[int, Snapshot] = {each: kept[each] for each in chosen & kept.keys()}
    snapshots |= {record.id: record for _, record in read_records(Snapshot, files, paths, {})}
    records = [snapshots[each] for each in sorted(snapshots)]
    manifests = _manifests_of(files, root.table, records)
    sizes = {meta.file_name: meta.file_size for metas in manifests if metas for meta in metas}
    untold = sum(sizes.values())
    nets = _net_bytes(files, root.table, sizes) if untold <= _MOST_MANIFESTS else {}
    states = [
        State(
            record.id, record.time_millis, record.total_record_count, _files_of(metas), _bytes_of(metas, nets)
        )
        for record, metas in zip(records, manifests, strict=True)
    ]
    return OverTime(states, len(all_ids), 0 if untold <= _MOST_MANIFESTS else untold)


def _spread(ids: Sequence[int], most: int) -> Sequence[int]:
    """The first, the last, and others between them at equal distances: `most` in all."""
    if len(ids) <= most:
        return ids
    return [ids[round(at * (len(ids) - 1) / (most - 1))] for at in range(most)]


def _manifests_of(
    files: Files, table: TablePath, records: Sequence[Snapshot]
) -> list[list[ManifestMeta] | None]:
    """The manifests of each; None if a list is missing or can't be read."""
    paths = [path for record in records for path in manifest_list_paths(table, record)]
    lists = [_metas(data, path) for path, data in zip(paths, files.read_many(paths), strict=True)]
    return [
        None if base is None or delta is None else base + delta
        for base, delta in zip(lists[::2], lists[1::2], strict=True)
    ]


def _metas(data: bytes | None, path: str) -> list[ManifestMeta] | None:
    try:
        return None if data is None else list(manifest_facts(data, path))
    except Corrupt:
        return None


def _net_bytes(files: Files, table: TablePath, sizes: Mapping[str, int]) -> dict[str, int]:
    """The bytes that each manifest adds, less those that it deletes."""
    names = {table.manifest(name): name for name in sizes}
    nets = {}
    for path, data in read_in_batches(files, {path: sizes[name] for path, name in names.items()}):
        try:
            if data is not None:
                facts = file_facts(data, path)
                nets[names[path]] = sum(each.size if each.is_added else -each.size for each in facts)
        except PaimarkError:
            continue
    return nets


def _files_of(metas: Sequence[ManifestMeta] | None) -> int | None:
    """Additions less deletions: each deletion is of a file that another of the snapshot's manifests adds."""
    if metas is None:
        return None
    total = 0
    for meta in metas:
        if meta.entries is None:
            return None
        total += meta.entries[0] - meta.entries[1]
    return total


def _bytes_of(metas: Sequence[ManifestMeta] | None, nets: Mapping[str, int]) -> int | None:
    if metas is None or not all(meta.file_name in nets for meta in metas):
        return None
    return sum(nets[meta.file_name] for meta in metas)
