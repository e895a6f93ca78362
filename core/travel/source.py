"""Resolve versions and times of one root to snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo

from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.uses import TableUse
from paimark.core.travel.times.times import literal_time
from paimark.core.travel.version import Resolved, resolve_latest, resolve_time, resolve_version


@dataclass(frozen=True, slots=True)
class TravelSource:
    """Reads a root as of a version or a time. `zone` is the session's, and that of the times in messages."""

    files: Files
    root: Root
    zone: tzinfo = UTC

    def apply_snapshot(self, timestamp_ms: int, requested: str = "") -> Resolved:
        """The newest state at or before the time (epoch ms). Raises `NotFound` when all are later."""
        return resolve_time(self.files, self.root, timestamp_ms, requested, zone=self.zone)

    def as_written(self, sql: str, use: TableUse, *, now_ms: int) -> Resolved | None:
        """Resolve the clause that the statement has for this table; without a clause, the latest snapshot.

        `now_ms` is the current time for the whole statement, epoch ms. Raises `NotFound`, `Corrupt`,
        `SqlRefused`.
        """
        if use.clause is None:
            return resolve_latest(self.files, self.root)
        if use.clause.is_tag and use.version is not None:
            # Fail for a missing tag: `resolve_version` would take a number for a snapshot.
            Lineage(self.files, self.root).tag(use.version)
        if use.version is not None:
            return resolve_version(self.files, self.root, use.version)
        time_ms = use.clause.time_ms
        if time_ms is None:
            time_ms = literal_time(sql, use.clause, now_ms=now_ms, zone=self.zone)
        return self.apply_snapshot(time_ms, use.clause.time or "")
