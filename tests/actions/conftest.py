"""A context on the test's own warehouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions.context import Context
from tests.actions.acting import context_on


@pytest.fixture
def context(warehouse: Path) -> Context:
    return context_on(warehouse)


@pytest.fixture
def orders(warehouse: Path) -> Path:
    """The directory of `shop.orders`."""
    return warehouse / "shop.db" / "orders"
