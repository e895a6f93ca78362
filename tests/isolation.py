"""Tests have a home of their own: no config of the user's is read, and nothing of theirs is written to."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from paimark.core.spark.launch.cds import SWITCH

# A variable with the directory for what is compiled.
KEPT = "PAIMARK_TESTS_KEPT"
_HOME = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_BELOW_HOME = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
}
_OF_THE_PRODUCT = ("PAIMARK_WAREHOUSE", "PAIMARK_READ_ONLY", "PAIMARK_DEBUG")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test or fixture runs, for the processes that they start as well."""
    home = config.stash[_HOME] = tempfile.TemporaryDirectory(prefix="paimark-home-")
    os.environ["HOME"] = home.name
    os.environ.update({name: str(Path(home.name, below)) for name, below in _BELOW_HOME.items()})
    for name in _OF_THE_PRODUCT:
        os.environ.pop(name, None)
    # To make an archive of classes takes 40 s of CPU, and it spares a start of Spark 2 s.
    os.environ[SWITCH] = "off"
    # From one run to the next: to fetch and compile each of the tests' own Java programs takes 7 s.
    # With `-p no:cacheprovider` there is nowhere to keep them.
    cache = getattr(config, "cache", None)
    if cache is not None:
        os.environ[KEPT] = str(cache.mkdir("java-built"))


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_HOME].cleanup()
