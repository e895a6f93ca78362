"""What statements leave behind in Java's memory."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from paimark.core.spark.client.client import Engine
from tests.interop.stock import jdk_tool
from tests.spark.client.test_engine import java_of
from tests.spark.engine_fixture import rows

FRAME = "org.apache.spark.sql.classic.Dataset"
SOME = 96


def frames(engine: Engine, jcmd: str) -> int:
    """How many data frames Java has, after a collection of its garbage."""
    words = [jcmd, str(java_of(engine)), "GC.class_histogram"]
    listed = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True).stdout
    found = re.search(rf"^ *\d+: +(\d+) +\d+ +{re.escape(FRAME)}(?: |$)", listed, re.MULTILINE)
    assert found is not None, listed[:2000]
    return int(found[1])


@pytest.mark.long
def test_frames_of_statements_go(engine: Engine) -> None:
    """Once those are there that are kept for when a query comes again."""
    jcmd = jdk_tool("jcmd")
    if jcmd is None:
        reason = "a JDK is needed: jcmd on PATH or in JAVA_HOME"
        if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    counted = []
    for begin in (0, SOME, 2 * SOME):
        for number in range(begin, begin + SOME):
            rows(
                engine, f"SELECT order_id FROM shop.orders WHERE price > {number} AND customer <> 'x' LIMIT 1"
            )
        counted.append(frames(engine, jcmd))
    assert counted[2] < counted[1] + SOME / 4, counted
