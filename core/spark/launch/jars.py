"""The jars that Spark's process and its tasks load for Paimark."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.redaction import redacted
from paimark.core.spark.java.sources import JAR, is_whole
from paimark.core.spark.launch.home import SparkHome, find_spark
from paimark.core.spark.stores.jars import cached_jars, jar_sets
from paimark.core.storage.known_options import PAIMON_JAR

_PAIMON = re.compile(r"paimon-(?:bundle|spark-[0-9.]+_[0-9.]+|spark-[0-9.]+)-([0-9][^/]*)\.jar")

_OLDEST = (1, 4)
_FETCH = "Run `paimark jars fetch paimon`."


def fetch_hint() -> str:
    """How to get the library: to fetch it is of no use where Spark itself brings an older one."""
    with suppress(PaimarkError):
        for jar in find_spark().jars:
            if (match := _PAIMON.fullmatch(jar.name)) and is_too_old(match[1]):
                newer = f"one of {_OLDEST[0]}.{_OLDEST[1]} or newer"
                return f"Spark's own {jar.name} is too old: put {newer} in its place, in {jar.parent}."
    return _FETCH


def no_library() -> tuple[str, str]:
    """The message and hint for a write without the library."""
    return "Rows are written by Paimon's own library, and Spark has none here", fetch_hint()


def library_missing() -> tuple[str, str]:
    """The message and hint for a question to the library that is not there."""
    return "Paimon's library is not here", fetch_hint()


def engine_jar() -> Path:
    """The jar of Paimark's own classes. Raises `Unavailable` if it is missing, or older than its sources."""
    if not is_whole():
        raise Unavailable(
            "The engine's jar is missing, or its Java sources are newer",
            "Run `make setup`, or `python -m paimark.core.spark.launch.building`.",
        )
    return JAR


def paimon_jar(spark: SparkHome, options: Mapping[str, str]) -> tuple[list[Path], str]:
    """The jar of Paimon's library to give to Spark, and its version.

    No jar if Spark has one; also no version if there is none at all. The option `paimon.jar` comes first,
    then a jar among Spark's own, then the one that `paimark jars fetch paimon` fetched. Raises `Unavailable`
    for an option that names no such jar, and for a fetched jar that is damaged.
    """
    if named := options.get(PAIMON_JAR):
        path = Path(named)
        match = _PAIMON.fullmatch(path.name)
        if match is None or not path.is_file():
            raise Unavailable(
                f"{PAIMON_JAR}={named} is no jar of Paimon's library",
                "Name a paimon-bundle or paimon-spark jar, or leave the option out.",
            )
        if is_too_old(match[1]):
            raise Unavailable(
                f"{path.name} is of Paimon {match[1]}, and {_OLDEST[0]}.{_OLDEST[1]} or newer is needed",
                "Leave the option out, and run `paimark jars fetch paimon`.",
            )
        return [path], match[1]
    for jar in spark.jars:
        # An older one on Spark's class path stays first there, so that no other can be given.
        if match := _PAIMON.fullmatch(jar.name):
            return [], match[1]
    jars = jar_sets()["paimon"]
    found = cached_jars(jars)
    return found, jars.version if found else ""


def has_library(options: Mapping[str, str]) -> bool:
    """Whether a Spark that is started now gets Paimon's library."""
    return _has_library(options.get(PAIMON_JAR, ""))


@cache
def _has_library(named: str) -> bool:
    try:
        release = paimon_jar(find_spark(), {PAIMON_JAR: named} if named else {})[1]
    except Unavailable:
        return False
    return bool(release) and not is_too_old(release)


def is_too_old(release: str) -> bool:
    """Whether a Paimon of that version lacks what the engine calls."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    return numbers < _OLDEST


def loaded_jars(spark: SparkHome, options: Mapping[str, str]) -> list[Path]:
    """All that they load. Raises `Unavailable` as `engine_jar` does, and for a library that is named in vain.

    A fetched library that is damaged is said and left out: most tables are read without it.
    """
    try:
        library, _ = paimon_jar(spark, options)
    except Unavailable as error:
        if PAIMON_JAR in options:
            raise
        print(redacted(f"paimark: {error.message}. {error.hint}"), file=sys.stderr)
        library = []
    return [engine_jar(), *library]
