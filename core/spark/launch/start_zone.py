"""The initial time zone of a Spark session, found without starting Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from paimark.core.config import Settings
from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import find_spark
from paimark.core.travel.times.zones import zone_of

_ZONE = "spark.sql.session.timeZone"
_LOCAL_TIME = Path("/etc/localtime")
_REGIONS = "/zoneinfo/"


def start_zone(settings: Settings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Its name; None if it can't be known here, as with a Spark that is reached by Connect."""
    try:
        conf = {**find_spark(environment).defaults(), **settings.spark_conf}
    except Unavailable:
        return None
    master = settings.spark_master or conf.get("spark.master", "local")
    java = [value for name, value in conf.items() if name.endswith("extraJavaOptions")]
    java += [environment.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")]
    if master.startswith("sc://") or any("user.timezone" in options for options in java):
        return None
    name = conf.get(_ZONE) or environment.get("TZ") or _of_the_machine()
    try:
        zone_of(name)
    except ValueError:
        return None
    return name


def _of_the_machine() -> str:
    """The machine's zone, found like Java does; empty if it has no name."""
    return str(_LOCAL_TIME.resolve()).rpartition(_REGIONS)[2]
