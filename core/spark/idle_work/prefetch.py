"""Prefetch a table for its first query: read its metadata, and make its merge bits and its data frame.

All results go into the caches of statements, whose keys are content: snapshot, schema, manifest, files. So a
statement finds there only what it would have made itself for its own snapshot; it makes the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimark.core.cancelling import check_cancelled
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess
from paimark.core.spark.idle_work.scheduler import (
    MOST_FILES,
    MOST_KEY_BYTES,
    MOST_MANIFEST_BYTES,
    MOST_MANIFEST_BYTES_ELSEWHERE,
)
from paimark.core.spark.launch.session_settings import DEFAULTS, REUSE, WARM_UP
from paimark.core.spark.native.bitmap import merge_bits, uncached_bytes
from paimark.core.spark.native.scans import NativeScans
from paimark.core.spark.native.state import TableState
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.addresses import store_of
from paimark.core.table.manifests.files import data_manifests
from paimark.core.table.records import Snapshot


@dataclass(frozen=True, slots=True)
class Prefetcher:
    conf: SessionConf
    warehouse: WarehouseAccess
    natives: NativeScans

    @property
    def is_wanted(self) -> bool:
        """Whether the session's settings allow it."""
        return all(self.conf.get(name, DEFAULTS[name]) != "off" for name in (WARM_UP, REUSE))

    def prefetch(self, scan: Scan) -> None:
        """Prefetch within bounds; in a remote store only the metadata. Raises the errors of a query."""
        if not scan.snapshot or not self._is_light(scan):
            return
        state = self.natives.state(scan.root, scan)
        if len(state.files) > MOST_FILES or not all(map(_is_here, _stores(state))):
            return
        check_cancelled()
        groups = state.merged
        if uncached_bytes(groups) > MOST_KEY_BYTES:
            return
        for group in groups:
            # One at a time, so that finished groups stay cached if a later one is interrupted.
            merge_bits(self.conf, self.warehouse.client_options, [group])
            check_cancelled()
        self.natives.frame(self.natives.open(scan.root, scan), None)

    def _is_light(self, scan: Scan) -> bool:
        """Whether its metadata are small enough to prefetch."""
        files, root = self.warehouse.files, scan.root
        snapshot = Snapshot.from_json(scan.snapshot.encode(), root.snapshots)
        most = MOST_MANIFEST_BYTES if _is_here(files.uri) else MOST_MANIFEST_BYTES_ELSEWHERE
        return sum(each.file_size for each in data_manifests(files, root.table, snapshot)) <= most


def _stores(state: TableState) -> list[str]:
    """One address in each store that has files of the table."""
    return list({store_of(file.address): file.address for file in state.files}.values())


def _is_here(address: str) -> bool:
    return store_of(address).kind == "file"
