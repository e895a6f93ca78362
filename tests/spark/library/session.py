"""A Spark in this very process, for tests that act between the writing of rows and their commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.launch.session import Spark, start_spark
from paimark.core.spark.library.writes import LibraryWrites
from paimark.core.spark.protocol import Start
from paimark.core.spark.source import PaimarkSource
from paimark.core.spark.stores.access import HadoopStores
from paimark.core.storage.files import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
}


@contextmanager
def library_session(scratch: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Spark]:
    """`settings` are Spark's. The environment that a start of Spark changes is as before."""
    before = dict(os.environ)
    spark = start_spark(Start("", {}, "local[2]", {**_CONF, **settings}, str(scratch), False))
    spark.session.dataSource.register(PaimarkSource)
    os.environ.clear()
    os.environ.update(before)
    yield spark
    spark.stop()


def writes_of(session: SparkSession, files: Files) -> LibraryWrites:
    warehouse = WarehouseAccess(files, files.uri, {})
    return LibraryWrites(session, warehouse, HadoopStores(session, warehouse, elsewhere=False))
