"""The settings with which anybody's Spark has a warehouse as a catalog of its own: `LakeCatalog.java`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from paimark.core.errors import Unavailable, UsageError
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import LIBRARY_MISSING, engine_jar, is_too_old, paimon_jar
from paimark.core.spark.stores.settings import hadoop_address

LAKE_CATALOG = "paimark.library.LakeCatalog"
# Clauses of time travel beyond Spark's own grammar.
EXTENSIONS = "spark.sql.extensions"
LAKE_EXTENSIONS = "paimark.clauses.LakeExtensions"


def catalog_settings(
    warehouse: str, options: Mapping[str, str], name: str = "lake", *, read_only: bool = False
) -> dict[str, str]:
    """The settings, by name; `warehouse` is its address, `options` are those of its catalog.

    This Python commits what statements write there, or with `read_only` nothing is written.

    Those of the store are not among them: they may hold secrets, and Spark may have them already. Raises
    `UsageError` for a name that Spark does not take, and `Unavailable` without Paimon's library.
    """
    if not re.fullmatch(r"\w+", name, re.ASCII):
        raise UsageError(f"{name!r} can't be the name of a catalog", "Take letters, digits and underscores.")
    jars = jars_to_give(options)
    prefix = f"spark.sql.catalog.{name}"
    return {
        "spark.jars": jars,
        EXTENSIONS: LAKE_EXTENSIONS,
        prefix: LAKE_CATALOG,
        f"{prefix}.warehouse": hadoop_address(warehouse, options),
        f"{prefix}.python": sys.executable,
        **({f"{prefix}.read-only": "true"} if read_only else {}),
    }


def jars_to_give(options: Mapping[str, str]) -> str:
    """The value of `spark.jars`. Raises `Unavailable` without Paimon's library."""
    jars, release = paimon_jar(find_spark(), options)
    if not release or is_too_old(release):
        raise Unavailable(*LIBRARY_MISSING)
    return ",".join(map(str, (engine_jar(), *jars)))
