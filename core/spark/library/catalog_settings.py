"""The settings with which anybody's Spark has a warehouse as a catalog of its own: `LakeCatalog.java`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from paimark.core.errors import Unavailable, UsageError
from paimark.core.redaction import redacted, shown_value
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import engine_jar, is_too_old, library_missing, paimon_jar
from paimark.core.spark.stores.launching import client_jars
from paimark.core.spark.stores.settings import anybodys_address, place_settings, store_of
from paimark.core.storage.known_options import PAIMON_JAR

LAKE_CATALOG = "paimark.library.LakeCatalog"
# Clauses of time travel beyond Spark's own grammar.
EXTENSIONS = "spark.sql.extensions"
LAKE_EXTENSIONS = "paimark.clauses.LakeExtensions"


def catalog_settings(
    warehouse: str, options: Mapping[str, str], name: str = "lake", *, read_only: bool = False
) -> dict[str, str]:
    """The settings, by name; `warehouse` is its address, `options` are those of its catalog.

    This Python commits what statements write there, or with `read_only` nothing is written.

    No secret is among them: both find the store's keys by themselves, as in the environment. Raises
    `UsageError` for a name that Spark does not take, and `Unavailable` without Paimon's library.
    """
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise UsageError(f"{name!r} can't be the name of a catalog", "Take letters, digits and underscores.")
    store, prefix = store_of(warehouse), f"spark.sql.catalog.{name}"
    jars = [jars_to_give(options), *map(str, client_jars(store, find_spark()))]
    of_store = place_settings(store, options)
    return {
        "spark.jars": ",".join(jars),
        EXTENSIONS: LAKE_EXTENSIONS,
        prefix: LAKE_CATALOG,
        f"{prefix}.warehouse": anybodys_address(warehouse, options),
        f"{prefix}.python": sys.executable,
        **({f"{prefix}.read-only": "true"} if read_only else {}),
        **{f"{prefix}.{option}": value for option, value in options.items() if _is_told(option, value)},
        **{f"spark.hadoop.{setting}": value for setting, value in of_store.items()},
    }


def _is_told(option: str, value: str) -> bool:
    """Whether it is for the Python that commits, and holds no secret."""
    return option != PAIMON_JAR and redacted(value) == shown_value(option, value) == value


def jars_to_give(options: Mapping[str, str]) -> str:
    """The value of `spark.jars`. Raises `Unavailable` without Paimon's library."""
    jars, release = paimon_jar(find_spark(), options)
    if not release or is_too_old(release):
        raise Unavailable(*library_missing())
    return ",".join(map(str, (engine_jar(), *jars)))
