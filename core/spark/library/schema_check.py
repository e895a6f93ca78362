"""Ask Paimon's library about schemas: what it would refuse, and which one a CREATE TABLE defines.

Each is a short Java process without a Spark session: `SchemaCheck.java`, `TableDefinition.java`. What relates
options, keys, columns and types is decided there only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from paimark.core.errors import PaimarkError, StatementFailed, Unavailable
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.jars import engine_jar, is_too_old, library_missing, paimon_jar
from paimark.core.spark.launch.java import Java, find_java
from paimark.core.table.records import TableSchema

# Spark's jars that the library needs beside its own; Spark's parser needs nearly all.
_BESIDE = ("hadoop-client-", "slf4j-api-", "log4j-", "commons-", "jackson-", "paimon-")
_ALL = ("",)
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SECONDS = 60


def schema_refusal(old: TableSchema, new: TableSchema, options: Mapping[str, str]) -> str | None:
    """Why Paimon would refuse the new schema, in its own words; empty if it would not.

    `options` are those of the catalog. None if nobody can be asked: there is no Java, or no library.
    """
    # The time differs with each plan, and decides nothing.
    texts = [msgspec.structs.replace(each, time_millis=0).to_json().decode() for each in (old, new)]
    old_text, new_text = texts
    try:
        return _answer("SchemaCheck", _java(options, _BESIDE), f'{{"old":{old_text},"new":{new_text}}}')
    except PaimarkError:
        return None


class Definition(msgspec.Struct):
    """What a CREATE TABLE comes to: a `schema`, or why it was `refused`, with the offset in the statement."""

    schema: msgspec.Raw = msgspec.Raw()
    refused: str = ""
    position: int | None = None


def defined_by(sql: str, options: Mapping[str, str]) -> TableSchema:
    """The schema that a CREATE TABLE defines. Raises `StatementFailed`; `Unavailable` without the library."""
    java = _java(options, _ALL)
    answer = _answer("TableDefinition", java, msgspec.json.encode({"sql": sql}).decode())
    if answer is None:
        raise Unavailable("Java did not answer what the statement defines", "Run it again.")
    definition = msgspec.json.decode(answer, type=Definition)
    if definition.refused:
        refused = definition.refused.rstrip(".")
        raise StatementFailed(refused, "Nothing was made.", definition.position)
    return TableSchema.from_json(bytes(definition.schema), "the definition")


class _Program(NamedTuple):
    """What runs a program: Java, the jars of ours and of the library, and Spark's jars."""

    java: Java
    jars: tuple[Path, ...]
    of_spark: tuple[Path, ...]


def _java(options: Mapping[str, str], wanted: tuple[str, ...]) -> _Program:
    """`wanted` are the beginnings of the names of Spark's jars.

    Raises `Unavailable` without a Java, a Spark, or a library that is new enough.
    """
    spark = find_spark()
    jars, release = paimon_jar(spark, options)
    if not release or is_too_old(release):
        raise Unavailable(*library_missing())
    beside = tuple(jar for jar in spark.jars if jar.name.startswith(wanted))
    return _Program(find_java(), (engine_jar(), *jars), beside)


@lru_cache(maxsize=16)
def _answer(name: str, program: _Program, given: str) -> str | None:
    class_path = os.pathsep.join(map(str, (*program.jars, *program.of_spark)))
    command = [str(program.java.executable), *_FLAGS, "-cp", class_path, f"paimark.library.{name}"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command, input=given.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
        if done.returncode == 0:
            return done.stdout.decode()
    return None
