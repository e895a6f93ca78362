"""Find YARN's ResourceManager by Hadoop's files and Spark's settings, and check that it answers.

Spark itself would try for a quarter of an hour to reach it, and would try this machine if no file names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.masters.listening import refusal_of
from paimark.core.storage.hadoop.site_files import site_settings

_DIRECTORIES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_CORE, _FILE = "core-site.xml", "yarn-site.xml"
# With this proxy the machines can't be reached directly.
_SOCKS = "hadoop.socks.server"
_OF_SPARK = "spark.hadoop."
_MANAGER = "yarn.resourcemanager."
_PORT = "8032"
# Hadoop's syntax for a reference to another setting in a value.
_NAMED = re.compile(r"\$\{([^}]+)\}")


def require_yarn(settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises `Unavailable` if no ResourceManager is named, or none answers. `settings` are Spark's."""
    given = {name: environment[name] for name in _DIRECTORIES if environment.get(name)}
    if not given:
        raise Unavailable(
            "YARN's configuration is not known here",
            "Set HADOOP_CONF_DIR to the directory with core-site.xml and yarn-site.xml.",
        )
    told = {
        name.removeprefix(_OF_SPARK): value
        for name, value in settings.items()
        if name.startswith(_OF_SPARK + _MANAGER)
    }
    # Java reads the first file that it finds on its class path.
    directories = [each for value in given.values() for each in value.split(os.pathsep)]
    named = [each for each in directories if os.path.isfile(os.path.join(each, _FILE))][:1]
    if not told and not named:
        [(name, value), *_] = given.items()
        what = f"has no {_FILE}" if any(map(os.path.isdir, directories)) else "is no directory"
        raise Unavailable(
            f"{name}={value} {what}", "Let it name the directory with core-site.xml and yarn-site.xml."
        )
    known = {**site_settings(named, (_CORE, _FILE)), **told}
    places = [] if _SOCKS in known else managers(known)
    if places and (refused := refusal_of(*places)):
        raise Unavailable(
            f"There is no ResourceManager of YARN at {' or '.join(places)} ({refused})",
            f"Is it running? {' and '.join(given)} and spark.hadoop.{_MANAGER}* say where it is.",
        )


def managers(settings: Mapping[str, str]) -> list[str]:
    """`host:port` of each ResourceManager; empty if one is unknown, or refers to an unknown setting."""
    ids = [""]
    if settings.get(f"{_MANAGER}ha.enabled", "").lower() == "true":
        ids = [f".{each.strip()}" for each in settings.get(f"{_MANAGER}ha.rm-ids", "").split(",")]
    places = []
    for each in ids:
        host = settings.get(f"{_MANAGER}hostname{each}", "")
        address = settings.get(f"{_MANAGER}address{each}") or (f"{host}:{_PORT}" if host else "")
        address = _NAMED.sub(lambda match: settings.get(match[1], match[0]), address)
        if not address or "$" in address:
            return []
        places.append(address if ":" in address else f"{address}:{_PORT}")
    return places
