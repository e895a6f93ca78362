"""The state that the statements of one session share: Spark, warehouse, views, time zone and database."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from paimark.core.errors import READ_ONLY, Refused, StatementFailed
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.engine.tables import Opener
from paimark.core.spark.engine.views import Views
from paimark.core.spark.library.lookups import Lookups
from paimark.core.spark.library.reads import LibraryReads
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.native.scans import NativeScans
from paimark.core.spark.protocol import Start
from paimark.core.spark.session_conf import ZONE, SessionConf
from paimark.core.storage.open import open_files
from paimark.core.travel.times import zone_of


class SessionState:
    """`zone` is the session's time zone; `database` the running statement's, None if none was chosen."""

    def __init__(self, conf: SessionConf) -> None:
        self._conf = conf
        self.zone = conf.zone
        self.database: str | None = None

    def note_zone(self) -> None:
        """Record the time zone that a statement has set. Raises `StatementFailed` if it is unknown here."""
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
    """A session of Spark, started by Paimark or reached over Connect, and its warehouse."""

    spark: SparkSession
    conf: SessionConf
    warehouse: WarehouseAccess
    natives: NativeScans
    library: LibraryReads
    writes: LibraryWrites
    views: Views
    state: SessionState
    is_read_only: bool

    @classmethod
    def begin(cls, spark: SparkSession, start: Start) -> EngineSession:
        """Set up a session, and repeat `start.session`: statements of an earlier engine of the session."""
        files = open_files(start.warehouse, start.options)
        warehouse = WarehouseAccess(files, files.uri, start.options)
        conf = SessionConf(spark)
        natives = NativeScans(conf, warehouse)
        writes = LibraryWrites(spark, warehouse, natives.stores)
        library = LibraryReads(conf, warehouse, natives.stores)
        views = Views(spark, natives, library, Lookups(conf, library, natives.stores))
        for sql in start.session:
            # It succeeded before, but may need a variable that is gone.
            with suppress(PySparkException):
                spark.sql(sql)
        conf.forget()
        state = SessionState(conf)
        return cls(spark, conf, warehouse, natives, library, writes, views, state, start.read_only)

    def opener(self) -> Opener:
        """An opener for the tables of the next statement."""
        now = time.time_ns() // 1_000_000
        zone = zone_of(self.state.zone)
        return Opener(self.warehouse, self.natives, self.library, self.state.database, zone, now)

    def require_writable(self) -> None:
        """Raises `Refused` in read-only mode."""
        if self.is_read_only:
            raise Refused(*READ_ONLY)
