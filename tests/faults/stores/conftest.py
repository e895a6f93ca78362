"""A pretended S3 server, shared by the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.storage.pretending import PretendingServer


@pytest.fixture(scope="module")
def server() -> Iterator[PretendingServer]:
    with PretendingServer("keeps") as server:
        yield server
