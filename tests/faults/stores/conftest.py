"""One S3 of our own for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.storage.pretending import PretendingServer


@pytest.fixture(scope="module")
def server() -> Iterator[PretendingServer]:
    with PretendingServer("keeps") as server:
        yield server
