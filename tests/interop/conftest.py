"""Fixtures: the warehouses that the judge reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from tests.actions.acting import context_on


@pytest.fixture(scope="session")
def demo(demo_template: Path) -> Path:
    """The demo warehouse, for reading only."""
    return demo_template


@pytest.fixture(autouse=True)
def _audit_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    """A context on the engine's warehouse."""
    return replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: engine)
