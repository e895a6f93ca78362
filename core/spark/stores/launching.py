"""Prepare a start of Spark for the warehouse's store: settings, Hadoop's configuration, jars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from paimark.core.errors import Unavailable
from paimark.core.redaction import redacted
from paimark.core.spark.stores.failures import named_files, named_packages
from paimark.core.spark.stores.jars import JarSet, OwnSpark, cached_jars, jar_sets
from paimark.core.spark.stores.settings import Store, hadoop_settings, store_of
from paimark.core.storage.known_options import CONF_DIR, KEYTAB, PRINCIPAL

# Spark's own pattern of secrets does not match Azure's keys.
_SECRETS = "(?i)secret|password|passphrase|token|access[.]?key|account[.]?key|credential"
_JARS = "spark.jars"
_KERBEROS = {PRINCIPAL: "spark.kerberos.principal", KEYTAB: "spark.kerberos.keytab"}
# The file systems for which Spark fetches delegation tokens, beside the default one; then its older names.
_ACCESSED = "spark.kerberos.access.hadoopFileSystems"
_ACCESSED_NAMES = (_ACCESSED, "spark.yarn.access.hadoopFileSystems", "spark.yarn.access.namenodes")


class Prepared(NamedTuple):
    """`environment` is for Java, and `jars` for its class path."""

    settings: dict[str, str]
    environment: dict[str, str]
    jars: Sequence[Path]


def prepared(
    settings: Mapping[str, str],
    warehouse: str,
    options: Mapping[str, str],
    hadoop: str,
    own: Sequence[Path] = (),
) -> Prepared:
    """`settings` are those of the start so far, which win; `hadoop` is the version in Spark.

    `own` are Paimark's jars, whose classes this process and all tasks need.
    """
    more = {"spark.redaction.regex": _SECRETS}
    environment = {}
    store = store_of(warehouse)
    if store.kind == "hdfs":
        # Java determines its identity at the start, so these settings can't come later.
        given = hadoop_settings(store, options).given
        more |= {f"spark.hadoop.{name}": value for name, value in given.items()}
        more |= {name: options[option] for option, name in _KERBEROS.items() if option in options}
        if directory := options.get(CONF_DIR):
            environment["HADOOP_CONF_DIR"] = directory
    jars = [*own, *_client_jars(store, hadoop, lambda each: _is_named(each, settings))]
    made = {**more, **settings, **_accessed(store, settings)}
    if jars and _goes_elsewhere(settings.get("spark.master", "local")):
        made[_JARS] = ",".join([*filter(None, [settings.get(_JARS)]), *map(str, jars)])
        jars = [*own]
    return Prepared(made, environment, jars)


def client_jars(store: Store, spark: OwnSpark) -> list[Path]:
    """The jars of the store's client that were fetched, if that Spark has none among its own."""
    own = {each.name for each in spark.jars}
    return _client_jars(
        store, spark.hadoop, lambda each: any(name.startswith(f"{each.jars[0].parts[1]}-") for name in own)
    )


def _client_jars(store: Store, hadoop: str, is_there: Callable[[JarSet], bool]) -> list[Path]:
    return [
        jar
        for each in jar_sets().values()
        if each.name == store.kind and each.version == hadoop and not is_there(each)
        for jar in _fetched(each)
    ]


def _accessed(store: Store, settings: Mapping[str, str]) -> dict[str, str]:
    """The setting that gives executors a token for the warehouse too. What the user names stays in it.

    Without it executors have only a token of the default file system.
    """
    if store.kind != "hdfs" or not store.bucket:
        return {}
    given = [each.strip() for name in _ACCESSED_NAMES for each in settings.get(name, "").split(",")]
    return {_ACCESSED: ",".join(dict.fromkeys([*filter(None, given), str(store)]))}


def _goes_elsewhere(master: str) -> bool:
    """Whether tasks run in other processes, which get jars through a setting of Spark."""
    return not (master == "local" or master.startswith("local["))


def _is_named(jars: JarSet, settings: Mapping[str, str]) -> bool:
    """Whether the user's settings name the client, in any version."""
    client = jars.jars[0].parts[1]
    return any(name.startswith(f"{client}-") for name in (*named_files(settings), *named_packages(settings)))


def _fetched(jars: JarSet) -> list[Path]:
    try:
        return cached_jars(jars)
    except Unavailable as error:
        # Tables are still read, through Python; EXPLAIN and `doctor` tell the reason.
        print(redacted(f"paimark: {error.message}. {error.hint}"), file=sys.stderr)
        return []
