"""The judge, started once a session, and what it judges."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.actions.context import Context
from core.demo.build import build_demo
from core.spark.client.client import Engine
from tests.actions.acting import context_on
from tests.interop.judge import Judge
from tests.interop.stock import ToolMissing, build_command


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Stock Paimon. Without a JDK and Maven its tests skip; with PAIMARK_REQUIRE_INTEROP=1 they fail."""
    workspace = tmp_path_factory.mktemp("judge")
    try:
        command = build_command(workspace)
    except ToolMissing as missing:
        reason = f"no stock Paimon to judge by: {missing}"
        if os.environ.get("PAIMARK_REQUIRE_INTEROP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    judge = Judge(command, workspace / "judge.log")
    yield judge
    judge.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo warehouse, for reading only."""
    path = tmp_path_factory.mktemp("demo") / "warehouse"
    build_demo(path, lambda line: None)
    return path


@pytest.fixture(autouse=True)
def _audit_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def context(engine: Engine, engine_warehouse: Path, tmp_path: Path) -> Context:
    """On the engine's own warehouse."""
    return replace(context_on(engine_warehouse), audit_path=tmp_path / "audit", engine=lambda: engine)
