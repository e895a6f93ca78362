"""A context on the test's own warehouse."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from tests.actions.acting import context_on
from tests.actions.declared.catalogue import at_work
from tests.copying import copied


@pytest.fixture
def context(warehouse: Path) -> Context:
    return context_on(warehouse)


@pytest.fixture(scope="session")
def _at_work(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("at_work") / "warehouse"
    shutil.copytree(warehouse_template, path)
    at_work(context_on(path))
    return path


@pytest.fixture
def warehouse_at_work(_at_work: Path, tmp_path: Path) -> Path:
    """Like `warehouse`, with all that the catalogue of actions needs."""
    return copied(_at_work, tmp_path / "warehouse")


@pytest.fixture
def orders(warehouse: Path) -> Path:
    """The directory of `shop.orders`."""
    return warehouse / "shop.db" / "orders"


@pytest.fixture
def with_engine(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    """On the engine's own warehouse."""
    return replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: engine)
