"""Spark's own calendar, without a session: a judge of what `paimark.core.travel` says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from paimark.core.spark.launch.java import find_java

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SparkJudge:
    """What Spark 4.1 makes of a string that is a timestamp."""

    def __init__(self, jvm: Any) -> None:
        catalyst = jvm.org.apache.spark.sql.catalyst
        self._strings = getattr(getattr(catalyst.util, "SparkDateTimeUtils$"), "MODULE$")
        self._utf8 = jvm.org.apache.spark.unsafe.types.UTF8String

    def timestamp(self, text: str, zone: str) -> datetime | None:
        parsed = self._strings.stringToTimestamp(self._utf8.fromString(text), self._strings.getZoneId(zone))
        return _EPOCH + timedelta(microseconds=parsed.get()) if parsed.isDefined() else None


@pytest.fixture(scope="session")
def spark_judge() -> Iterator[SparkJudge]:
    jars = Path(pyspark.__file__).parent / "jars"
    port, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j*.jar"))),
        classpath=os.path.join(jars, "*"),
        java_path=str(find_java().executable),
        die_on_exit=True,
        redirect_stderr=subprocess.DEVNULL,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield SparkJudge(gateway.jvm)
    gateway.shutdown()
    process.stdin.close()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
