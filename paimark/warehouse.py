"""A warehouse: the entry point of a program."""

from __future__ import annotations

import os
from collections.abc import Mapping

from paimark.arguments import text, texts
from paimark.core.config import Settings, full_address, read_only_environment
from paimark.core.errors import UsageError
from paimark.core.table.catalog import databases, find_table, parse_table_name, tables
from paimark.core.table.trash import DroppedTable, dropped_tables
from paimark.methods import R, TrashMethods
from paimark.session import Session
from paimark.table import Table


class Warehouse(TrashMethods):
    """A file system catalog of Paimon. There is no connection to close."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"Warehouse({self.uri!r})"

    @property
    def uri(self) -> str:
        """Its address, without passwords."""
        return self._session.files.uri

    def databases(self) -> list[str]:
        """The names of the databases, sorted. Raises `NotFound` if there is no warehouse."""
        return databases(self._session.files)

    def tables(self, database: str | None = None) -> list[Table]:
        """The tables of a database, or of all, sorted by name. Raises `NotFound`."""
        names = self.databases() if database is None else [text("database", database, "None is for all.")]
        return [Table(self._session, path) for name in names for path in tables(self._session.files, name)]

    def table(self, name: str) -> Table:
        """The table `database.table`, each part plain or in backticks. Raises `NotFound` and `UsageError`."""
        name = text("A table", name, "Its name is database.table.")
        return Table(self._session, find_table(self._session.files, name))

    def dropped(self, database: str | None = None) -> list[DroppedTable]:
        """The dropped tables of a database, or of all, the newest of each first. Raises `NotFound`."""
        names = self.databases() if database is None else [text("database", database, "None is for all.")]
        return [each for name in names for each in dropped_tables(self._session.files, name)]

    def _do(self, name: str, action: str, kind: type[R], **arguments: object) -> R:
        path = parse_table_name(text("A table", name, "Its name is database.table."))
        return Table(self._session, path)._do(action, kind, **arguments)

    def spark_settings(self, catalog: str = "lake") -> dict[str, str]:
        """The settings with which a Spark 4.1 of your own has this warehouse as a catalog, in SQL.

        `SparkSession.builder.config(map=warehouse.spark_settings())`. The store's own settings are not among
        them. Raises `UsageError` for a name that can't be a catalog's, and `Unavailable` without Paimon's
        library (`paimark jars fetch paimon`).
        """
        from paimark.core.spark.library.catalog_settings import catalog_settings

        settings, name = self._session.settings, text("catalog", catalog, "It is a name.")
        return catalog_settings(settings.warehouse, settings.options, name, read_only=settings.read_only)


def open_warehouse(
    uri: str | os.PathLike[str],
    *,
    options: Mapping[str, str] | None = None,
    read_only: bool = False,
    spark_master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
) -> Warehouse:
    """The warehouse at a path or a URI (`s3://lake/warehouse`). Reads nothing yet.

    `options` are Paimon's catalog options (`s3.endpoint`, ...). With `read_only`, or PAIMARK_READ_ONLY=1 in
    the environment, every change is refused. `spark_master` and `spark_conf` are for the few actions that
    rewrite rows: only those start Spark, in a process of its own. Raises `UsageError`, and `Unavailable` if
    the client of a store is not installed.
    """
    if not isinstance(read_only, bool):
        raise UsageError(f"read_only is True or False, not {read_only!r}")
    if spark_master is not None:
        text("spark_master", spark_master, "It is local[2], spark://host:7077, yarn or sc://host:15002.")
    where = text(
        "A warehouse", os.fspath(uri) if isinstance(uri, os.PathLike) else uri, "It is a path or a URI."
    )
    if not where.strip():
        raise UsageError("The warehouse's address is empty", "It is a path or a URI.")
    settings = Settings(
        warehouse=full_address(where),
        options=texts("options", {} if options is None else options),
        read_only=read_only or read_only_environment(),
        author=os.environ.get("PAIMARK_AUTHOR", ""),
        spark_master=spark_master,
        spark_conf=texts("spark_conf", {} if spark_conf is None else spark_conf),
    )
    return Warehouse(Session.begin(settings))
