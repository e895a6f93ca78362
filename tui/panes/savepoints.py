"""Tab 2: the savepoints that belong to a branch."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar

from core.table.layout import savepoint_tag
from core.table.records import Savepoint
from core.table.savepoints import SavepointManager
from tui.background import Report
from tui.formats import exact_time, format_value
from tui.panes.record_pane import Found, RecordPane
from tui.session import Target, Version
from tui.sources import Column, Records
from tui.widgets.detail_strip import Detail

# A savepoint and its health: `ok` or what is wrong with it.
Healthy = tuple[Savepoint, str]
SavepointRows = Records[Healthy]
_OK = "ok"
_NO_TAG = "unprotected"
_UNPROTECTED = "none: the next expiry may delete its files"


class SavepointsPane(RecordPane[SavepointRows]):
    """Newest first, because that is the one people come for."""

    TITLE = "Savepoints"
    EMPTY = "No savepoints yet: press s to make one of the newest snapshot."
    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column("id", "id", "accent"),
        Column("", style="bad"),
        Column("snapshot", "id"),
        Column("committed", "time"),
        Column("rows", "number"),
        Column("comment", most=48),
        Column("saved", "age", "quiet"),
        Column("made on", style="second"),
        Column("by", style="quiet"),
    )

    def read(self, target: Target, report: Report[Found[SavepointRows]]) -> None:
        opened = self.session.open(target)
        seen = self._listing(opened.root.tags, target)
        manager = SavepointManager(self.session.files, target.table)
        savepoints = list(reversed(manager.health_of_root(opened.root)))
        left_out = tuple(manager.unreadable.values())
        report(Found(opened, Records(savepoints, _values), (opened.root, seen), left_out=left_out))

    def fingerprint(self, target: Target) -> Hashable:
        root = self.session.open(target).root
        return root, self._listing(root.tags, target)

    def _listing(self, tags: str, target: Target) -> Hashable:
        files = self.session.files
        return frozenset(files.names(target.table.savepoints)), frozenset(files.names(tags))

    def detail(self, index: int) -> Detail:
        savepoint, health = self._record(index)
        now_ms = int(time.time() * 1000)
        facts = [
            ("comment", savepoint.comment or ""),
            ("of snapshot", str(savepoint.saved_snapshot_id)),
            ("schema", str(savepoint.schema_id)),
            ("rows", format_value("number", savepoint.record_count, now_ms)),
            ("made on", savepoint.branch),
            ("by", savepoint.created_by),
            ("committed", exact_time(savepoint.snapshot_time, now_ms)),
            ("saved", exact_time(savepoint.save_time, now_ms)),
            ("protected by tag", _UNPROTECTED if health == _NO_TAG else savepoint_tag(savepoint.id)),
            ("manifest list", savepoint.full_manifest_list),
        ]
        if savepoint.verified_at is not None:
            facts.append(("verified", exact_time(savepoint.verified_at, now_ms)))
        facts += [(name, str(value)) for name, value in savepoint.unknown.items()]
        return Detail(f"savepoint {savepoint.id}", tuple(fact for fact in facts if fact[1]))

    def version(self, index: int) -> Version | None:
        savepoint, _ = self._record(index)
        name = savepoint_tag(savepoint.id)
        return Version(version=name, tag=name, snapshot_id=savepoint.saved_snapshot_id)

    def name_of(self, index: int) -> str:
        return savepoint_tag(self._record(index)[0].id)

    def _record(self, index: int) -> Healthy:
        assert self.found is not None
        return self.found.rows.records[index]


def _values(healthy: Healthy) -> Sequence[object]:
    savepoint, health = healthy
    return (
        savepoint.id,
        None if health == _OK else f"! {health}",
        savepoint.saved_snapshot_id,
        savepoint.snapshot_time,
        savepoint.record_count,
        savepoint.comment,
        savepoint.save_time,
        savepoint.branch,
        savepoint.created_by,
    )
