"""PYTHONPATH as it is set for another Spark's spark-submit: the engine does without it."""

from __future__ import annotations

import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from paimark.core.spark.client.child import EngineProcess, without_other_spark
from tests.wording import about


def pyspark_of(directory: Path, number: str) -> str:
    (directory / "pyspark").mkdir(parents=True)
    (directory / "pyspark/version.py").write_text(f'__version__: str = "{number}"\n')
    return str(directory)


def test_only_a_spark_of_another_version_is_left_aside(tmp_path: Path) -> None:
    old, own = pyspark_of(tmp_path / "old", "3.5.1"), pyspark_of(tmp_path / "own", version("pyspark"))
    zipped = f"{old}/lib/py4j-0.10.9.7-src.zip", f"{own}/lib/py4j-{version('py4j')}-src.zip"
    path = os.pathsep.join([old, zipped[0], str(tmp_path), "", own, zipped[1]])
    environment, others = without_other_spark({"PYTHONPATH": path, "A": "b"})
    assert others == [old, zipped[0]]
    assert environment == {"PYTHONPATH": os.pathsep.join([str(tmp_path), "", own, zipped[1]]), "A": "b"}
    assert without_other_spark({"A": "b"}) == ({"A": "b"}, [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another process's environment is read")
def test_the_engine_has_none_of_it_and_its_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = pyspark_of(tmp_path / "old", "3.5.1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([old, str(tmp_path / "mine")]))
    process = EngineProcess(tmp_path / "engine.log")
    try:
        # It is empty for a moment after the process has begun.
        while not (variables := Path(f"/proc/{process.pid}/environ").read_bytes()) and not process.ended:
            time.sleep(0.01)
    finally:
        process.close()
    assert f"PYTHONPATH={tmp_path}/mine".encode() in variables.split(b"\0")
    assert about(old, "PYTHONPATH", "another Spark").search((tmp_path / "engine.log").read_text())
