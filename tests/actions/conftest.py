"""A context on the test's own warehouse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from tests.actions.acting import context_on


@pytest.fixture
def context(warehouse: Path) -> Context:
    return context_on(warehouse)


@pytest.fixture
def orders(warehouse: Path) -> Path:
    """The directory of `shop.orders`."""
    return warehouse / "shop.db" / "orders"


@pytest.fixture
def with_engine(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    """On the engine's own warehouse."""
    return replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: engine)
