"""The time zone and the database that a session's statements run in."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.errors import StatementFailed
from core.spark.datasource.scan import WarehouseAccess
from core.spark.engine.tables import Opener
from core.spark.native.scans import NativeScans
from core.spark.protocol import Run
from core.travel.source import TimeFolder
from core.travel.times.zones import zone_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ZONE = "spark.sql.session.timeZone"


class SessionState:
    """`zone` is the session's, `database` that of plain names: None where none was chosen."""

    def __init__(self, session: SparkSession) -> None:
        self._conf = session.conf
        self.zone = self._chosen_zone = self._conf.get(_ZONE) or "UTC"
        self.database: str | None = None
        self._given_database: str | None = None

    def settle(self, order: Run) -> None:
        """Before each statement."""
        self.zone = order.time_zone or self._chosen_zone
        self._conf.set(_ZONE, self.zone)
        # A USE holds until whoever asks comes with another database.
        if order.database != self._given_database or self.database is None:
            self._given_database = self.database = order.database

    def note_zone(self) -> None:
        """Keep the time zone that a statement has set. Raises `StatementFailed` for one not known here."""
        zone = self._conf.get(_ZONE) or "UTC"
        if zone == self.zone:
            return
        try:
            zone_of(zone)
        except ValueError as error:
            self._conf.set(_ZONE, self.zone)
            raise StatementFailed(
                f"{zone} is no time zone that is known here", "Write a region: 'America/Los_Angeles'."
            ) from error
        self._chosen_zone = zone

    def opener(
        self, warehouse: WarehouseAccess, natives: NativeScans, fold: TimeFolder | None = None
    ) -> Opener:
        """Resolves the tables of the statement that comes now."""
        now = time.time_ns() // 1_000_000
        return Opener(warehouse, natives, self.database, zone_of(self.zone), now, fold)
