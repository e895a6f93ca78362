"""The jars with which Spark reads stores."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.stores.jars import directory_of, fetch, jar_sets
from tests.once import once_a_run

_SETS = ("s3",)


@pytest.fixture(scope="session")
def store_jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetched as a user would, once for all processes of a run. Without Maven and a network tests skip."""
    directory, _ = once_a_run(tmp_path_factory, "jars", _fetched, "jars to read stores with")
    _look_for_jars_in(directory)
    return directory


def _fetched(directory: Path, run: int) -> str:
    # Imported here because it imports Spark, which is slow, and most tests need no jars.
    from tests.interop.stock import ToolMissing

    if shutil.which("mvn") is None:
        raise ToolMissing("Maven is needed: mvn on PATH")
    directory.chmod(0o700)
    try:
        for name in _SETS:
            found = fetch(jar_sets()[name], find_spark(), {}, lambda: find_java().executable)
            shutil.copytree(found, directory / name)
    except Unavailable as error:
        raise ToolMissing(error.message) from error
    return "fetched"


def _look_for_jars_in(directory: Path) -> None:
    for name in _SETS:
        place = directory_of(jar_sets()[name])
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not place.exists():
            place.symlink_to(directory / name)
