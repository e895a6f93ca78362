"""The fixture of the judge: one server for all processes of a run, started by whichever asks first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.interop.judge import Judge
from tests.once import once_a_run

_LOG = "judge.log"


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Without a JDK and Maven, its tests are skipped; with PAIMARK_REQUIRE_INTEROP=1 they fail."""
    with closing(connected(tmp_path_factory)) as judge:
        yield judge


def connected(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """A connection of its own to the run's judge; as `judge` where there can be none."""
    place, port = once_a_run(tmp_path_factory, "stock", _started, "stock Paimon to judge by")
    return Judge(int(port), place / _LOG)


def _started(workspace: Path, run: int) -> str:
    # Imported here because it imports Spark, which is slow, and most tests need no judge.
    from paimark.core.spark.launch.home import find_spark
    from paimark.core.spark.launch.jars import loaded_jars
    from tests.interop.java_server import started
    from tests.interop.stock import build_command

    spark = find_spark()
    programs = os.pathsep.join(map(str, (*loaded_jars(spark, {}), *spark.jars)))
    command = [*build_command(workspace), str(run), programs]
    return started(command, workspace, workspace / _LOG).said
