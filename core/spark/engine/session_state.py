"""What the statements of one session share: Spark, the warehouse, views, the time zone and the database."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from core.errors import READ_ONLY, Refused, StatementFailed
from core.spark.datasource.scan import WarehouseAccess
from core.spark.engine.tables import Opener
from core.spark.engine.views import Views
from core.spark.native.scans import NativeScans
from core.spark.protocol import Run, Start
from core.spark.session_conf import ZONE, SessionConf
from core.storage.open import open_files
from core.travel.source import TimeFolder
from core.travel.times.zones import zone_of


class SessionState:
    """`zone` is the session's, `database` that of plain names: None where none was chosen."""

    def __init__(self, conf: SessionConf) -> None:
        self._conf = conf
        self.zone = conf.zone
        self.database: str | None = None
        self._given_database: str | None = None

    def settle(self, order: Run) -> None:
        """Before each statement."""
        # A USE holds until whoever asks comes with another database.
        if order.database != self._given_database or self.database is None:
            self._given_database = self.database = order.database

    def note_zone(self) -> None:
        """Keep the time zone that a statement has set. Raises `StatementFailed` for one not known here."""
        zone = self._conf.zone
        if zone == self.zone:
            return
        try:
            zone_of(zone)
        except ValueError as error:
            self._conf.put(ZONE, self.zone)
            raise StatementFailed(
                f"{zone} is no time zone that is known here", "Write a region: 'America/Los_Angeles'."
            ) from error
        self.zone = zone


@dataclass(frozen=True, slots=True)
class EngineSession:
    """Over a Spark of our own, or over one that Connect reaches."""

    spark: SparkSession
    conf: SessionConf
    warehouse: WarehouseAccess
    natives: NativeScans
    views: Views
    state: SessionState
    is_read_only: bool

    @classmethod
    def begin(cls, spark: SparkSession, start: Start) -> EngineSession:
        """Set up as an earlier engine of the same session was."""
        files = open_files(start.warehouse, start.options)
        warehouse = WarehouseAccess(files, files.uri, start.options)
        conf = SessionConf(spark)
        natives = NativeScans(conf, warehouse)
        views = Views(spark, natives)
        for sql in start.session:
            # It went well once; a variable that it needs may be gone.
            with suppress(PySparkException):
                spark.sql(sql)
        conf.forget()
        return cls(spark, conf, warehouse, natives, views, SessionState(conf), start.read_only)

    def opener(self, fold: TimeFolder | None) -> Opener:
        """Resolves the tables of the statement that comes now."""
        now = time.time_ns() // 1_000_000
        zone = zone_of(self.state.zone)
        return Opener(self.warehouse, self.natives, self.state.database, zone, now, fold)

    def require_writable(self) -> None:
        """Raises `Refused` in read-only mode."""
        if self.is_read_only:
            raise Refused(*READ_ONLY)
