"""Ask Paimon's library whether it would open a table with a changed schema: `SchemaCheck.java`.

It is a short Java process without Spark. What relates options, keys, columns and types is decided there only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from paimark.core.errors import PaimarkError
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.launch.jars import engine_jar, is_too_old, paimon_jar
from paimark.core.spark.launch.java import Java, find_java
from paimark.core.table.records import TableSchema

# Spark's jars that the library needs beside its own.
_BESIDE = ("hadoop-client-", "slf4j-api-", "log4j-", "commons-", "jackson-", "paimon-")
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SECONDS = 60


def schema_refusal(old: TableSchema, new: TableSchema, options: Mapping[str, str]) -> str | None:
    """Why Paimon would refuse the new schema, in its own words; empty if it would not.

    `options` are those of the catalog. None if nobody can be asked: there is no Java, or no library.
    """
    # The time differs with each plan, and decides nothing.
    texts = [msgspec.structs.replace(each, time_millis=0).to_json().decode() for each in (old, new)]
    try:
        spark, java = find_spark(), find_java()
        jars, release = paimon_jar(spark, options)
        if not release or is_too_old(release):
            return None
        return _answer(spark, java, (engine_jar(), *jars), texts[0], texts[1])
    except PaimarkError:
        return None


@lru_cache(maxsize=16)
def _answer(spark: SparkHome, java: Java, jars: tuple[Path, ...], old: str, new: str) -> str | None:
    beside = [jar for jar in spark.jars if jar.name.startswith(_BESIDE)]
    class_path = os.pathsep.join(map(str, (*jars, *beside)))
    command = [str(java.executable), *_FLAGS, "-cp", class_path, "paimark.library.SchemaCheck"]
    with suppress(OSError, subprocess.TimeoutExpired):
        given = f'{{"old":{old},"new":{new}}}'.encode()
        done = subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
        if done.returncode == 0:
            return done.stdout.decode()
    return None
