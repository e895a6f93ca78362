"""Stores in a running Spark: configure Hadoop to reach them, and open a file to check that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimark.core.errors import Refused, Unavailable
from paimark.core.redaction import keep_secrets
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.stores.failures import (
    explain,
    lacks_ticket,
    log_in_again,
    missing_class,
    no_client,
    of_other_hadoop,
)
from paimark.core.spark.stores.settings import (
    S3_CLIENT,
    WHO,
    HadoopSettings,
    Identity,
    Store,
    bucket_setting,
    hadoop_address,
    hadoop_settings,
    store_of,
    unsupported_option,
)
from paimark.core.storage.files import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A class that the client of a store needs for its first read, and that may be missing beside it.
_NEEDED = {"s3": "software.amazon.awssdk.transfer.s3.S3TransferManager"}
_NO_FILE = "java.io.FileNotFoundException"
# Marks of the source of a setting that has only its default.
_DEFAULTS = ("-default.xml", "to default value")


class _Prepared(NamedTuple):
    """The settings of a store, and those of them that were made: the user's own ones win."""

    settings: HadoopSettings
    made: Mapping[str, str]

    def __repr__(self) -> str:
        return "_Prepared(...)"


class HadoopStores:
    """Checks stores, and remembers the result as long as Spark lives."""

    def __init__(self, session: SparkSession, warehouse: WarehouseAccess, *, elsewhere: bool) -> None:
        """`elsewhere`: Spark's tasks also run on other machines."""
        self._session = session
        self._jvm: Any = getattr(session, "_jvm", None)
        self._warehouse = warehouse
        # Values that our S3 client found by itself must not override the user's Spark settings.
        self._options = (
            warehouse.options if store_of(warehouse.uri).kind == "s3" else warehouse.client_options
        )
        self._elsewhere = elsewhere
        self._prepared: dict[Store, _Prepared] = {}
        self._readable: set[Store] = set()
        # How often clients were made anew: what holds an earlier one must be made again.
        self.renewals = 0

    def address(self, address: str) -> str:
        """The address of the file for Hadoop."""
        return hadoop_address(address, self._options)

    def require_readable(self, address: str) -> None:
        """Open the file like Spark, unless its store was read before.

        Raises `Refused` if Spark lacks its client, or that takes not all options; `Unavailable`.
        """
        store = store_of(address)
        if store in self._readable:
            return
        if option := unsupported_option(store, self._options):
            # Spark would read it with another identity.
            raise Refused(
                f"Spark's client for {store.scheme} takes no {option}",
                "Give a key file, or none for the application's default credentials.",
            )
        if store not in self._prepared:
            self._prepare(store, self._settings(store))
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
            raise Refused(*no_client(store, said, self._hadoop)) from error
        if why := of_other_hadoop(store, _jar(client), self._hadoop):
            raise Refused(*why)

    def _open(self, store: Store, path: Any, conf: Any) -> None:
        try:
            if needed := _NEEDED.get(store.kind):
                self._jvm.org.apache.spark.util.Utils.classForName(needed, True, False)
            self._read(store, path, conf)
        except Py4JJavaError as error:
            java = innermost(error.java_exception)
            kind, said = str(java.getClass().getName()), str(java.getMessage())
            if kind == _NO_FILE:
                # The store answers. The reader of the file will get the error.
                return
            if why := missing_class(store, kind, said, self._hadoop):
                raise Refused(*why) from error
            raise Unavailable(*explain(store, f"{kind}: {said}")) from error

    def _read(self, store: Store, path: Any, conf: Any) -> None:
        try:
            _first_byte(path, conf)
        except Py4JJavaError as error:
            if store.kind != "hdfs" or not lacks_ticket(str(error.java_exception)):
                raise
            # Java looked for a ticket when Spark started: by now there may be one.
            log_in_again(self._session, self._jvm)
            _first_byte(path, conf)

    @property
    def _hadoop(self) -> str:
        """The version of Hadoop in Spark."""
        return str(self._jvm.org.apache.hadoop.util.VersionInfo.getVersion())

    def renew_keys(self) -> None:
        """Give Hadoop the present keys where it has other ones. To be called before a statement.

        If there are none now, it keeps those that it has: the store's refusal of them is the better message.
        """
        for store, prepared in [*self._prepared.items()]:
            if store.kind == "s3":
                with suppress(Unavailable):
                    self._renew(store, prepared)

    def _renew(self, store: Store, prepared: _Prepared) -> None:
        settings = self._settings(store)
        if settings == prepared.settings or not is_renewable(self._conf, store):
            return
        if self._prepare(store, settings) != prepared.made:
            renew_client(self._session, self._conf, store)
            self.renewals += 1

    @property
    def _conf(self) -> Any:
        context: Any = self._session.sparkContext
        return context._jsc.hadoopConfiguration()

    def _settings(self, store: Store) -> HadoopSettings:
        return hadoop_settings(store, self._options, self._identity(store))

    def _prepare(self, store: Store, settings: HadoopSettings) -> Mapping[str, str]:
        """Configure Hadoop for a store. Secrets go to Java's memory, not to settings that Spark shows."""
        keep_secrets("", settings.given, settings.found)
        conf, own = self._conf, {name for each in self._prepared.values() for name in each.made}
        made = chosen(store, settings, lambda name: name not in own and _is_set(conf, name))
        for name in self._made(store).keys() - made.keys():
            conf.unset(name)
        for name, value in made.items():
            conf.set(name, value)
        self._prepared[store] = _Prepared(settings, made)
        return made

    def _made(self, store: Store) -> Mapping[str, str]:
        """The settings that were made for a store before."""
        return self._prepared[store].made if store in self._prepared else {}

    def _identity(self, store: Store) -> Identity:
        if store.kind != "s3":
            return Identity()
        return s3_identity(self._warehouse.files, elsewhere=self._elsewhere)


def chosen(store: Store, settings: HadoopSettings, is_set: Callable[[str], bool]) -> dict[str, str]:
    """The settings to make. The user's settings for this bucket win over catalog options, others do not."""
    made = {name: value for name, value in settings.given.items() if not is_set(name)}
    names_who = any(is_set(f"fs.s3a.{name}") or is_set(bucket_setting(store, name)) for name in WHO)
    for name, value in settings.found.items():
        own = name.removeprefix(bucket_setting(store, ""))
        is_told = is_set(name) or (own != name and is_set(f"fs.s3a.{own}"))
        if not is_told and not (own in WHO and names_who):
            made[name] = value
    return made


def _is_set(conf: Any, name: str) -> bool:
    """Whether the user or the environment set it for Spark or Hadoop, so that it is not a default."""
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
    """The name of the jar that contains a class; empty for none."""
    source = java_class.getProtectionDomain().getCodeSource()
    return "" if source is None else str(source.getLocation().getPath()).rpartition("/")[2]


# Sources of credentials that Java's own search also finds on the same machine.
_FOUND_BY_JAVA = frozenset(
    {
        *("env", "shared-credentials-file", "config-file", "custom-process"),
        *("assume-role", "assume-role-with-web-identity", "container-role", "iam-role"),
    }
)
_PARTS = ("key", "secret", "token")


def s3_identity(files: Files, *, elsewhere: bool) -> Identity:
    """The values that the client of `files` found by itself. `elsewhere`: Spark also reads on other machines.

    Credentials are included only if Java would not find them by itself. Makes no request to the store. Raises
    `Unavailable` if there are none.
    """
    from paimark.core.storage.s3.s3_files import S3Files

    if not isinstance(files, S3Files):
        return Identity()
    client = files.client_settings()
    if client.is_anonymous:
        return Identity(client.endpoint, client.region, is_anonymous=True)
    keys = files.own_keys(() if elsewhere else _FOUND_BY_JAVA)
    if not keys and files.has_other_keys:
        # Java has read the profile's files once, with the first keys.
        keys = files.own_keys(())
    return Identity(client.endpoint, client.region, False, *(keys.get(part, "") for part in _PARTS))


_CLASS = "paimark.stores.RenewedS3"
_NUMBER = "paimark.s3.keys."


def renew_client(session: SparkSession, conf: Any, store: Store) -> None:
    """Let all scans from now on read the store with clients that have the keys of `conf`.

    `conf` is Hadoop's configuration of the session's context.
    """
    conf.set(f"fs.{store.scheme}.impl", _CLASS)
    conf.setBoolean(f"fs.{store.scheme}.impl.disable.cache", True)
    conf.setInt(f"{_NUMBER}{store.bucket}", conf.getInt(f"{_NUMBER}{store.bucket}", 0) + 1)


def is_renewable(conf: Any, store: Store) -> bool:
    """Whether Hadoop reads the store with the client whose settings are known here."""
    return conf.get(f"fs.{store.scheme}.impl") in (S3_CLIENT, _CLASS)
