"""pypaimon-rust is optional: a machine that it has no wheel for goes without its tests."""

from __future__ import annotations

import os

import pytest

from paimark.core.spark.datasource.rust.installed import why_missing


@pytest.fixture(scope="session")
def by_rust() -> None:
    """With PAIMARK_REQUIRE_INTEROP=1 its tests fail rather than skip."""
    if not (why := why_missing()):
        return
    if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
        pytest.fail(f"pypaimon-rust: {why}")
    pytest.skip(f"pypaimon-rust: {why}")
