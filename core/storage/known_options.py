"""The catalog options of stores that a client of Paimark, or pypaimon, obeys.

The names of most stores are few and known. Two sets are open: Hadoop's settings, which the client of HDFS
takes under any name, and those of Jindo for `oss://`. Of these only the prefix is known, so a misspelled rest
goes unnoticed. Azure's may end in an account's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from paimark.core.errors import UsageError

S3_PREFIXES = ("fs.s3a.", "fs.s3.", "s3a.", "s3.")
S3_CREDENTIALS = {
    "key": ("access-key", "accesskeyid"),
    "secret": ("secret-key", "accesskeysecret"),
    "token": ("session-token", "security-token", "sessiontoken", "securitytoken"),
}
_S3_NAMES = frozenset(
    {
        *(name for names in S3_CREDENTIALS.values() for name in names),
        *("endpoint", "region", "endpoint-region", "path-style-access"),
        *("connection-ssl-enabled", "connection-establish-timeout", "connection-timeout"),
    }
)
# The identity that reads HDFS, unless a ticket of `kinit` provides it.
PRINCIPAL, KEYTAB = "security.kerberos.login.principal", "security.kerberos.login.keytab"
# The directory of Hadoop's own files, unless HADOOP_CONF_DIR names it.
CONF_DIR = "hdfs.conf-dir"
# The spellings of pypaimon and the clients.
SPELLED = (
    *("s3.endpoint", "s3.access-key", "s3.secret-key", "s3.region", "s3.path.style.access"),
    *("fs.s3.accessKeyId", "fs.s3.accessKeySecret", "fs.s3.securityToken"),
    *("fs.oss.impl", "fs.oss.endpoint", "fs.oss.region"),
    *("fs.oss.accessKeyId", "fs.oss.accessKeySecret", "fs.oss.securityToken"),
    *("fs.oss.server-side-encryption", "fs.oss.server-side-encryption-key-id"),
    *("fs.oss.server-side-data-encryption", "fs.oss.server-side-encryption-algorithm"),
    *("gcs.project-id", "gcs.access-token", "gcs.access-token.expiration"),
    *("fs.gs.project.id", "fs.gs.storage.root.url"),
    *("fs.gs.auth.type", "fs.gs.auth.service.account.json.keyfile"),
    *("fs.azure.abfs.endpoint", "fs.azure.always.use.https"),
    *("fs.azure.account.hns.enabled", "fs.azure.fns.account.service.type"),
    *(CONF_DIR, "hdfs.client.impl", "hdfs.client.fallback-to-pyarrow"),
    *(PRINCIPAL, KEYTAB),
    *("security.kerberos.login.use-ticket-cache", "security.principal", "security.keytab"),
    *("cache-enabled", "cache.expire-after-write", "cache.blob-index.max-size"),
    "file-format.metadata-cache.max-size",
    *("file-io.read-coalesce.max-gap", "file-io.read-coalesce.max-block"),
    *("fuse.enabled", "fuse.root", "fuse.validation-mode", "fuse.mode"),
    *("local-cache.enabled", "local-cache.dir", "local-cache.max-size", "local-cache.block-size"),
    *("local-cache.whitelist", "resolving-file-io.enabled"),
)
# The catalog options that Paimark itself reads.
VERIFY_WAIT_OPTION, RECOVER_WAIT_OPTION = "paimark.verify-wait", "paimark.recover-wait"
LOCK_ENABLED, METASTORE, PAIMON_JAR = "lock.enabled", "metastore", "paimon.jar"
_OWN = (PAIMON_JAR, VERIFY_WAIT_OPTION, RECOVER_WAIT_OPTION, LOCK_ENABLED, METASTORE)
_KNOWN = frozenset(SPELLED)
_OF_ACCOUNTS = tuple(
    f"fs.azure.{name}."
    for name in (
        *("account.key", "sas.fixed.token", "account.auth.type", "account.oauth.provider.type"),
        *(f"account.oauth2.client.{part}" for part in ("id", "secret", "endpoint")),
    )
)
_HADOOP = ("dfs.", "fs.", "hadoop.", "ipc.", "io.", "hdfs.config.")
_JINDO = ("fs.", "logger.")
_OPEN = {"hdfs": _HADOOP, "viewfs": _HADOOP, "oss": _JINDO}

# Catalogs with a server are not supported yet. Nobody gets another catalog than the one that was asked for.
_AS_FILES = "Name the warehouse's directory, which opens as files"
# What is different then from what the catalog shows.
_MEANS = {
    "Hive": "a table with a location elsewhere is missing there, and a dropped external one is listed.",
    "JDBC": "no lock is taken then, and a JDBC catalog can't read the branches of a table.",
    "REST": "the server sees no change that is made there.",
}
_SCHEMES = {"thrift": "Hive", "jdbc": "JDBC", "http": "REST", "https": "REST"}
_METASTORES = {kind.lower(): kind for kind in _MEANS}
_SCHEME = re.compile(r"(thrift|jdbc|https?):", re.IGNORECASE)
# Options that only such a catalog has: their names, or how they begin.
_OPTIONS = {
    "Hive": ("hive-conf-dir", "hadoop-conf-dir", "location-in-properties", "client-pool-cache."),
    "JDBC": ("catalog-key", "sync-all-properties", "jdbc."),
    "REST": ("token", "token.", "token-refresh-", "dlf.", "header."),
}
_OF_SEVERAL = ("uri", "client-pool-size")
_LOCK_OPTIONS = ("lock.type", "lock-check-max-sleep", "lock-acquire-timeout")


def is_known(option: str, warehouse: str) -> bool:
    """Whether a client obeys the option, or may; `warehouse` tells which client is used.

    Only S3's are accepted in capital letters too: other clients would ignore them.
    """
    scheme = warehouse.partition("://")[0].lower()
    if option in _KNOWN or s3_name(option) in _S3_NAMES or option.startswith(_OPEN.get(scheme, ())):
        return True
    # For any warehouse, because one session may read several stores.
    return f"{option}.".startswith(_OF_ACCOUNTS)


def require_known(options: Iterable[str], warehouse: str) -> None:
    """Raises `UsageError` naming a catalog option that no client obeys."""
    for option in options:
        if option not in _OWN and not is_known(option, warehouse):
            raise UsageError(f"There is no storage or catalog option {option}", _hint(option))


def _hint(option: str) -> str:
    # Imported late, because it takes time to load.
    from difflib import get_close_matches

    known = {name.lower(): name for name in (*SPELLED, *_OWN)}
    if near := get_close_matches(option.lower(), known, n=1):
        return f"Did you mean {known[near[0]]}?"
    if option.startswith("spark."):
        return "Spark's settings are given by --spark-conf, or spark_conf of a context."
    return "The store's own are meant, such as s3.endpoint; options of a table belong in its schema."


def require_files(warehouse: str, options: Mapping[str, str]) -> None:
    """Raises `UsageError` if the address or an option asks for a catalog that is not one of files."""
    if scheme := _SCHEME.match(warehouse):
        word = scheme[1].lower()
        hint = _as_files(_SCHEMES[word])
        if _SCHEMES[word] == "REST":
            hint += " The endpoint of an S3 store is an option: s3.endpoint."
        raise UsageError(f"{_SCHEMES[word]} catalogs are not supported yet, so {word}: can't be opened", hint)
    for option, value in options.items():
        _require_option(option.lower(), value.strip().lower())


def _require_option(name: str, value: str) -> None:
    if name == METASTORE and (kind := _METASTORES.get(value)):
        raise UsageError(
            f"{kind} catalogs are not supported yet: {METASTORE} can only be filesystem", _as_files(kind)
        )
    for kind, names in _OPTIONS.items():
        if _is_one_of(name, names):
            raise UsageError(
                f"{name} is an option of {kind} catalogs, which are not supported yet", _as_files(kind)
            )
    if name in _OF_SEVERAL:
        raise UsageError(
            f"{name} is an option of Hive, JDBC and REST catalogs, which are not supported yet",
            f"{_AS_FILES}.",
        )
    if name in _LOCK_OPTIONS or (name == LOCK_ENABLED and value == "true"):
        raise UsageError(
            f"Paimark takes no lock of a catalog, so {name} would protect nothing",
            "Leave it out. On an object store, make changes while no other engine writes to the table.",
        )


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    return any(name.startswith(each) if each.endswith((".", "-")) else name == each for each in names)


def _as_files(kind: str) -> str:
    return f"{_AS_FILES}: {_MEANS[kind]}"


def s3_name(option: str) -> str:
    """The common name of S3's spellings: `path-style-access` for `s3.path.style.access`; "" for others."""
    name = option.lower()
    for prefix in S3_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix).replace(".", "-").replace("_", "-")
    return ""
