"""Spark's Java, as a Python process sees it in which Spark runs the data source: through `Door.java`."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

from py4j.java_gateway import GatewayParameters, JavaGateway
from pyspark.sql import SparkSession

from paimark.core.spark.datasource.scan import Scan, TableAddress, WarehouseAccess
from paimark.core.spark.datasource.table_options import ReadScope, require_obeyed
from paimark.core.spark.library.reads import LibraryReads
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.access import HadoopStores
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.open import open_files


class Visit:
    """One read or write. `way` is the text with which Java let this process in."""

    def __init__(self, way: str) -> None:
        port, secret, number = way.split()
        there = GatewayParameters(port=int(port), auth_token=secret, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=there)
        self._visit: Any = self._gateway.entry_point.visit(number)

    @cached_property
    def session(self) -> SparkSession:
        """What our code needs of a session whose driver is another process."""
        java = self._visit.session()
        context = java.sparkContext()
        spark = SimpleNamespace(
            _jvm=self._gateway.jvm,
            _jsparkSession=java,
            conf=SimpleNamespace(get=lambda name, default: java.conf().get(name, default)),
            sparkContext=SimpleNamespace(
                _jsc=SimpleNamespace(hadoopConfiguration=context.hadoopConfiguration),
                getConf=lambda: SimpleNamespace(get=lambda name: _text(context.getConf().getOption(name))),
            ),
        )
        return cast(SparkSession, spark)

    def asked(self, name: str) -> str | None:
        """What Java asks beside the options, which are a program's."""
        told: str | None = self._visit.asked(name)
        return told

    def writes(self, target: WriteTarget) -> LibraryWrites:
        return LibraryWrites(self.session, *self._reached(target))

    @property
    def written(self) -> Any:
        """Java's `TableWrite`, with the files of the tasks."""
        return self._visit.begun()

    def begin_write(self, written: Any) -> None:
        self._visit.begin(written)

    def require_readable(self, scan: Scan) -> None:
        """Raises `Refused` for options by which the library would change other rows than the table shows."""
        require_obeyed(scan.name, scan.table_schema.options, scan.branch, "table", by_library=True)
        self._reads(scan).require_readable(scan)

    def begin_read(self, scan: Scan, scope: ReadScope) -> None:
        """Leave the table of the scan for Java to read, if Paimon's library can."""
        reads = self._reads(scan)
        if reads.can_read(scan):
            self._visit.begin(reads.table(scan, scope))

    def _reads(self, scan: Scan) -> LibraryReads:
        return LibraryReads(SessionConf(self.session), *self._reached(scan))

    def _reached(self, address: TableAddress) -> tuple[WarehouseAccess, HadoopStores]:
        files = open_files(address.warehouse, address.options)
        warehouse = WarehouseAccess(files, address.warehouse, address.options)
        is_here = self._visit.session().sparkContext().isLocal()
        return warehouse, HadoopStores(self.session, warehouse, elsewhere=not is_here)


def _text(option: Any) -> str | None:
    return str(option.get()) if option.isDefined() else None
