"""Every kind of store by one name."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.storage.files import Files
from paimark.core.storage.open import open_files
from tests.storage.stores import BUCKET


@pytest.fixture(params=["local", "memory", "s3", "hdfs"])
def open_warehouse(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Files]:
    """Opens the warehouse of a name, in each kind of store."""
    place = uuid.uuid4().hex
    if request.param == "local":
        # The one directory that no write creates.
        (tmp_path / "warehouse").mkdir()
        return lambda name: open_files(f"{tmp_path}/{name}")
    if request.param == "memory":
        return lambda name: open_files(f"memory://{place}/{name}")
    if request.param == "hdfs":
        address = request.getfixturevalue("hdfs")
        return lambda name: open_files(f"{address}/{place}/{name}")
    options = request.getfixturevalue("s3").options()
    return lambda name: open_files(f"s3://{BUCKET}/{place}/{name}", options)


@pytest.fixture
def store(open_warehouse: Callable[[str], Files]) -> Files:
    """A warehouse with nothing in it."""
    return open_warehouse("warehouse")
