"""Resolve versions and times of one root to snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo

from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.uses import Clause, TableUse
from paimark.core.travel.times import epoch_ms, from_epoch, instant, read_date, read_timestamp
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


_OUTSIDE = (
    "The time is outside the years 1 to 9999",
    "A number counts seconds since 1970: timestamp_millis(n) takes milliseconds.",
)
_CONSTANT = (
    "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or taken away, and "
    "functions of these."
)


# A time without a zone is in the session's. The caller passes the current time, one per statement, because a
# time of day is today's.
def literal_time(sql: str, clause: Clause, *, now_ms: int, zone: tzinfo) -> int:
    """The epoch milliseconds, rounded down, of the clause's literal.

    Raises `SqlRefused` with the position in `sql`.
    """
    text, kind = clause.literal or "", clause.literal_type
    try:
        if kind == "DATE":
            return epoch_ms(instant(datetime.combine(read_date(text), time()), zone))
        local = read_timestamp(text, from_epoch(milliseconds=now_ms).astimezone(zone).date())
        if kind == "TIMESTAMP_NTZ" and local.tzinfo is not None:
            raise ValueError("A TIMESTAMP_NTZ has no time zone")
        return epoch_ms(instant(local.replace(tzinfo=None), local.tzinfo or zone))
    except OverflowError as error:
        raise SqlRefused(*_OUTSIDE, sql, clause.time_start) from error
    except ValueError as error:
        raise SqlRefused(str(error), _CONSTANT, sql, clause.time_start) from error
