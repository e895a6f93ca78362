"""Stores in a running Spark: Hadoop is told how to reach them, and a file is opened to see that it can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from core.redaction import keep_secrets
from core.spark.datasource.scan import WarehouseAccess
from core.spark.stores.addresses import Store, hadoop_address, store_of
from core.spark.stores.failures import told
from core.spark.stores.identity import s3_identity
from core.spark.stores.lacks import missing_class, no_client, of_other_hadoop
from core.spark.stores.settings import (
    WHO,
    HadoopSettings,
    Identity,
    bucket_setting,
    hadoop_settings,
    not_taken,
)
from core.spark.stores.tickets import lacks_ticket, log_in_again

# A class without which the first read of some stores fails, for all that their client is there.
_NEEDED = {"s3": "software.amazon.awssdk.transfer.s3.S3TransferManager"}
_NO_FILE = "java.io.FileNotFoundException"
# Where the value of a setting comes from when nobody gave it.
_DEFAULTS = ("-default.xml", "to default value")


class StoreUnread(Exception):
    """Why Spark can't read a store, and what to do. `lasts`: as long as this Spark lives."""

    def __init__(self, reason: str, *, lasts: bool) -> None:
        super().__init__(reason)
        self.lasts = lasts


class HadoopStores:
    """Knows the stores that were looked at, as long as Spark lives."""

    def __init__(self, session: SparkSession, warehouse: WarehouseAccess, *, elsewhere: bool) -> None:
        """`elsewhere`: Spark's tasks run on other machines as well."""
        self._session = session
        self._jvm: Any = getattr(session, "_jvm", None)
        self._warehouse = warehouse
        # What S3's client found only fills what a user's own settings leave open.
        self._options = warehouse.options if store_of(warehouse.uri).kind == "s3" else warehouse.told_options
        self._elsewhere = elsewhere
        self._prepared: set[Store] = set()
        self._readable: set[Store] = set()

    def address(self, address: str) -> str:
        """The same file, as Hadoop calls it."""
        return hadoop_address(address, self._options)

    def require_readable(self, address: str) -> None:
        """Open the file as Spark would, unless its store was read before. Raises `StoreUnread`."""
        store = store_of(address)
        if store in self._readable:
            return
        if option := not_taken(store, self._options):
            # It would be read as somebody else.
            raise StoreUnread(f"Spark's client for {store.scheme} takes no {option}", lasts=True)
        if store not in self._prepared:
            self._prepare(store)
            self._prepared.add(store)
        conf: Any = self._session._jsparkSession.sessionState().newHadoopConf()
        path = self._jvm.org.apache.hadoop.fs.Path(self.address(address))
        self._require_client(store, path, conf)
        if store.kind != "file":
            self._open(store, path, conf)
        self._readable.add(store)

    def _require_client(self, store: Store, path: Any, conf: Any) -> None:
        scheme = path.toUri().getScheme() or "file"
        try:
            client = self._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, conf)
        except Py4JJavaError as error:
            said = str(error.java_exception.getMessage())
            raise StoreUnread(no_client(store, said, self._hadoop), lasts=True) from error
        if why := of_other_hadoop(store, _jar(client), self._hadoop):
            raise StoreUnread(why, lasts=True)

    def _open(self, store: Store, path: Any, conf: Any) -> None:
        try:
            if needed := _NEEDED.get(store.kind):
                self._jvm.org.apache.spark.util.Utils.classForName(needed, True, False)
            self._read(store, path, conf)
        except Py4JJavaError as error:
            java = innermost(error.java_exception)
            kind, said = str(java.getClass().getName()), str(java.getMessage())
            if kind == _NO_FILE:
                # The store answers. Whoever reads the file is told.
                return
            if why := missing_class(store, kind, said, self._hadoop):
                raise StoreUnread(why, lasts=True) from error
            raise StoreUnread(". ".join(told(store, f"{kind}: {said}")), lasts=False) from error

    def _read(self, store: Store, path: Any, conf: Any) -> None:
        try:
            _first_byte(path, conf)
        except Py4JJavaError as error:
            if store.kind != "hdfs" or not lacks_ticket(str(error.java_exception)):
                raise
            # Java asked who it is when Spark started: there may be a ticket by now.
            log_in_again(self._session, self._jvm)
            _first_byte(path, conf)

    @property
    def _hadoop(self) -> str:
        """The version of Hadoop that Spark brings."""
        return str(self._jvm.org.apache.hadoop.util.VersionInfo.getVersion())

    def _prepare(self, store: Store) -> None:
        """Tell Hadoop how to reach it. Secrets go to Java's memory, and into no setting that Spark shows."""
        settings = hadoop_settings(store, self._options, self._identity(store))
        keep_secrets("", settings.given, settings.found)
        context: Any = self._session.sparkContext
        conf = context._jsc.hadoopConfiguration()
        for name, value in chosen(store, settings, partial(_is_set, conf)).items():
            conf.set(name, value)

    def _identity(self, store: Store) -> Identity:
        if store.kind != "s3":
            return Identity()
        return s3_identity(self._warehouse.files, elsewhere=self._elsewhere)


def chosen(store: Store, settings: HadoopSettings, is_set: Callable[[str], bool]) -> dict[str, str]:
    """The settings to make. A user's own for this bucket stand; those for all give way to catalog options."""
    made = {name: value for name, value in settings.given.items() if not is_set(name)}
    names_who = any(is_set(f"fs.s3a.{name}") or is_set(bucket_setting(store, name)) for name in WHO)
    for name, value in settings.found.items():
        own = name.removeprefix(bucket_setting(store, ""))
        is_told = is_set(name) or (own != name and is_set(f"fs.s3a.{own}"))
        if not is_told and not (own in WHO and names_who):
            made[name] = value
    return made


def _is_set(conf: Any, name: str) -> bool:
    """Whether a user, or the environment, gave the setting to Spark or to Hadoop."""
    sources = conf.getPropertySources(name)
    return sources is not None and not any(mark in str(sources[0]) for mark in _DEFAULTS)


def _first_byte(path: Any, conf: Any) -> None:
    file = path.getFileSystem(conf).open(path)
    try:
        file.read()
    finally:
        file.close()


def innermost(error: Any) -> Any:
    while error.getCause() is not None:
        error = error.getCause()
    return error


def _jar(java_class: Any) -> str:
    """The name of the jar that a class is of; empty for none."""
    source = java_class.getProtectionDomain().getCodeSource()
    return "" if source is None else str(source.getLocation().getPath()).rpartition("/")[2]
