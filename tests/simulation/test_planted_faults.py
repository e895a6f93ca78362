"""Faults that were mended are found when they are planted again: else the simulation would prove nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.planted import PLANTS, planted

# What finds it: a crash point replays alike each time.
FOUND = {
    "a-moved-root-loses-what-came-late": "branch is retired: die after write 10, others commit",
}


@pytest.mark.parametrize("name", PLANTS)
def test_each_can_be_planted(name: str) -> None:
    """Where it was mended is named rightly still."""
    with planted(name):
        pass


@pytest.mark.parametrize("name", FOUND)
def test_it_is_found(name: str) -> None:
    command = [sys.executable, "-m", "tests.simulation", "--point", FOUND[name]]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    runs = [
        subprocess.run([*command, *more], env=environment, capture_output=True, check=False).returncode
        for more in ([], ["--plant", name])
    ]
    assert runs == [0, 1]
