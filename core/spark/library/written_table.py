"""A table to which Paimon's own library writes: that it can be reached and opened, and what it was given."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimark.core.errors import Refused, Unavailable
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.java.objects import has_library, new_instance
from paimark.core.spark.launch.jars import no_library
from paimark.core.spark.stores.access import HadoopStores, innermost
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files
from paimark.core.storage.open import require_conditions
from paimark.core.table.commits import require_last_commit
from paimark.core.table.layout import Root
from paimark.core.table.links import require_no_links


class WrittenTables:
    """Opens tables of a session's warehouse in Java, to write to them."""

    def __init__(self, session: SparkSession, warehouse: WarehouseAccess, stores: HadoopStores) -> None:
        self.session = session
        self.files = warehouse.files
        self._stores = stores

    def require_reached(self, target: WriteTarget) -> None:
        """Raises `Refused` if the library is not loaded, or does not reach the store."""
        if not has_library(self.session, "TableWrite"):
            raise Refused(*no_library())
        try:
            # A file: HDFS refuses to open a directory.
            schema = f"{target.root.schemas}/schema-{target.table_schema.id}"
            self._stores.require_readable(self._address(schema))
        except (Refused, Unavailable) as error:
            raise Refused(f"Rows can't be written to {target.name}: {error.message}", error.hint) from error

    def require_safe(self, target: WriteTarget) -> None:
        """Raises `Refused` if the store, the last commit or a link in the table make a commit unsafe."""
        require_conditions(self.files)
        require_last_commit(self.files, target.root)
        require_no_links(self.files, target.root.table)

    def opened(self, target: WriteTarget, name: str, known: str | None, *more: object) -> Any:
        """Java's object of that class. `known` is the snapshot to stand on. Raises `Refused`."""
        address, spark = self._address(target.root.table.directory), self.session._jsparkSession
        given = (spark, address, target.branch, target.schema, known, target.commit_user, *more)
        try:
            return new_instance(self.session, f"library.{name}", *given)
        except Py4JJavaError as error:
            said = str(innermost(error.java_exception).getMessage()).strip().split("\n")[0].rstrip(".")
            raise Refused(f"Paimon does not open {target.name}: {said}", "Nothing was written.") from error

    def _address(self, path: str) -> str:
        return self._stores.address(f"{self.files.uri.rstrip('/')}/{path}")


def require_own_files(files: Files, root: Root, uncommitted: Any) -> None:
    """Raises `Refused` if a link leads one of the tasks' files elsewhere, and deletes all.

    `uncommitted` is Java's.
    """
    try:
        require_no_links(files, root.table, _addresses(files, uncommitted))
    except Refused:
        uncommitted.delete()
        raise


def _addresses(files: Files, uncommitted: Any) -> list[str]:
    """The addresses of the data files, where directories can be links."""
    if not files.uri.startswith(("/", "file:")):
        return []
    return [each for each in str(uncommitted.addresses()).split("\n") if each]
