"""Tests that need the same Spark go to the same process."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

_CONFTEST = """
import pytest
pytest_plugins = ["tests.running.scheduling"]
@pytest.fixture(scope="session")
def engine(): pass
@pytest.fixture
def asking(engine): pass
@pytest.fixture(scope="session")
def mortal(): pass
@pytest.fixture(scope="session")
def spark_here(): pass
"""
_TESTS = {
    "test_engine_{}.py": "def test_a(engine): pass\ndef test_b(asking): pass\n",
    "test_both_{}.py": "def test_a(engine, mortal): pass\ndef test_plain(): pass\n",
    "test_mortal_{}.py": "def test_m(mortal): pass\n",
    "test_other_{}.py": "def test_s(spark_here): pass\n",
    "test_plain_{}.py": "def test_plain(): pass\n",
}


@pytest.mark.parametrize("processes", [pytest.param(2, marks=pytest.mark.long), 4])
def test_each_spark_is_in_one_process(tmp_path: Path, processes: int) -> None:
    """Also where there are fewer processes than kinds of Spark; and all tests run."""
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    for name, text in _TESTS.items():
        for number in range(3):
            (tmp_path / name.format(number)).write_text(text)
    words = ["-p", "no:cacheprovider", "--numprocesses", str(processes), "--dist", "loadfile", "-v"]
    command = [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    where: defaultdict[str, set[str]] = defaultdict(set)
    for line in run.stdout.splitlines():
        if " PASSED " in line:
            where[line.rpartition("::")[2].split()[0]].add(line.split()[0])
    assert "21 passed" in run.stdout
    assert where["test_a"] == where["test_b"] == {"[gw0]"} and where["test_s"] == {"[gw1]"}, where
    assert len(where["test_plain"]) > 1, where
    if processes > 2:
        assert where["test_m"] == {"[gw2]"}, where
