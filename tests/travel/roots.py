"""Roots laid out by hand, for histories that no writer makes in a hurry: holes, expiry, ids given again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.records import Savepoint, Snapshot

TABLE = TablePath("shop", "orders")


def snapshot(snapshot_id: int, time_ms: int, watermark: int | None = None) -> Snapshot:
    return Snapshot(
        version=3,
        id=snapshot_id,
        schema_id=0,
        base_manifest_list=f"manifest-list-{snapshot_id}-{time_ms}-0",
        delta_manifest_list=f"manifest-list-{snapshot_id}-{time_ms}-1",
        commit_user="test",
        commit_identifier=snapshot_id,
        commit_kind="APPEND",
        time_millis=time_ms,
        total_record_count=snapshot_id * 10,
        watermark=watermark,
    )


def savepoint(savepoint_id: int, saved: Snapshot, branch: str = "main") -> Savepoint:
    return Savepoint(
        id=savepoint_id,
        saved_snapshot_id=saved.id,
        schema_id=saved.schema_id,
        full_manifest_list="manifest-list-full",
        record_count=saved.total_record_count or 0,
        save_time=saved.time_millis + 5,
        snapshot_time=saved.time_millis,
        branch=branch,
    )


@dataclass
class Layout:
    """What a root's directories hold."""

    snapshots: list[Snapshot]
    tags: Mapping[str, Snapshot] = field(default_factory=dict)
    savepoints: Mapping[int, Snapshot] = field(default_factory=dict)

    def write(self, warehouse: Path, root: Root | None = None) -> tuple[Files, Root]:
        """A savepoint is written with its tag."""
        root = root or TABLE.root()
        warehouse.mkdir(exist_ok=True)
        files = open_files(str(warehouse))
        files.create(root.schema(0), b"{}")
        for each in self.snapshots:
            files.create(root.snapshot(each.id), each.to_json())
        for name, saved in self.tags.items():
            files.create(root.tag(name), saved.to_json())
        for savepoint_id, saved in self.savepoints.items():
            files.create(root.tag(savepoint_tag(savepoint_id)), saved.to_json())
            record = savepoint(savepoint_id, saved, root.label)
            files.create(root.table.savepoint(savepoint_id), record.to_json())
        return files, root
