"""The Spark that Paimark did not start: one for all tests of a process.

It starts with what is printed for a warehouse on S3, its catalog `far`; the catalog `lake` is of each test.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import paimark
from paimark.core.cli.main import run
from tests.storage.stores import BUCKET, S3Server

ROOT = Path(__file__).parents[3]
# Reads a warehouse, settings and queries a line. The first settings are those of the start, the others of a
# session each. Prints for each query its rows as JSON, or its error. `APPEND t name value` writes the rows of
# a table to it again, with an option. `others(id)` is a commit of a row with that id by somebody else, to the
# table `k`, while a statement runs.
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
started = None
def answer(spark, query):
    if not query.startswith("APPEND "):
        return [row.asDict() for row in spark.sql(query).collect()]
    _, table, name, value = query.split()
    spark.table(table).writeTo(table).option(name, value).append()
    return []
for line in sys.stdin:
    place, settings, queries = json.loads(line)
    if started is None:
        at_start = settings
        started = spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    else:
        spark = started.newSession()
        for name in at_start.keys() - settings.keys():
            spark.conf.unset(name)
        for name in settings:
            if at_start.get(name) != settings[name]:
                spark.conf.set(name, settings[name])
    def others(number, place=place):
        import pyarrow as pa
        from tests.paimon import commit
        commit(place, "shop.k", pa.table({"id": [number], "price": [0.5]}))
        return 5.0
    spark.udf.register("others", others, "double")
    for query in queries:
        try:
            found = json.dumps(answer(spark, query), default=str)
        except Exception as error:
            found = json.dumps(str(error).strip().splitlines()[0])
        print("ANSWER", found, flush=True)
"""


# A Spark and its Pythons take these from their environment.
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a-secret-key"}


@dataclass(frozen=True)
class FarHouse:
    """A warehouse on S3, and what is printed for a Spark that has it as its catalog `far`."""

    address: str
    options: dict[str, str]
    printed: str

    @property
    def settings(self) -> dict[str, str]:
        words = shlex.split(self.printed)
        assert words[::2] == ["--conf"] * (len(words) // 2)
        return dict(each.split("=", 1) for each in words[1::2])


@pytest.fixture(scope="session")
def far_house(s3: S3Server, store_jars: Path) -> FarHouse:
    address, endpoint = f"s3://{BUCKET}/house-{uuid.uuid4().hex[:6]}", {"s3.endpoint": s3.endpoint}
    given = endpoint | {"s3.secret-key": "a-secret-key", "s3.access-key": "key"}
    words = [word for name in given for word in ("--option", f"{name}={given[name]}")]
    with redirect_stdout(io.StringIO()) as out, pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        assert run(["jars", "catalog", "far", "--warehouse", address, *words]) == 0
    return FarHouse(address, endpoint, out.getvalue())


class ForeignSpark:
    """It starts with the first question."""

    def __init__(self, place: Path, far: FarHouse) -> None:
        self._place = place
        self._far = far.settings
        self._process: subprocess.Popen[str] | None = None

    def answers(self, warehouse: Path, queries: list[str], *, read_only: bool = False) -> list[Any]:
        """The rows of each query as dictionaries, or the first line of its error."""
        settings = paimark.open(warehouse, read_only=read_only).spark_settings("lake") | self._far
        settings |= {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.memory": "1g",
        }
        process = self._process = self._process or self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([str(warehouse), settings, queries]) + "\n")
        process.stdin.flush()
        found: list[Any] = []
        while len(found) < len(queries):
            line = process.stdout.readline()
            assert line, self._log.read_text()[-4000:]
            if line.startswith("ANSWER "):
                found.append(json.loads(line[7:]))
        return found

    def close(self) -> None:
        if self._process is not None:
            with self._process as process:
                assert process.stdin is not None
                process.stdin.close()

    @property
    def _log(self) -> Path:
        return self._place / "log"

    def _started(self) -> subprocess.Popen[str]:
        environment = {
            name: text for name, text in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))
        }
        environment |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
        environment |= {"SPARK_CONF_DIR": os.environ["SPARK_CONF_DIR"], "SPARK_LOCAL_IP": "127.0.0.1"} | KEYS
        with self._log.open("w") as log:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=self._place,
                text=True,
            )


@pytest.fixture(scope="session")
def foreign_spark(far_house: FarHouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignSpark]:
    with closing(ForeignSpark(tmp_path_factory.mktemp("foreign-spark"), far_house)) as spark:
        yield spark
