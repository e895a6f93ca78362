"""Fixtures of the command, and a demo warehouse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paimark.core.demo.build import build_demo
from tests.cli.conftest import paimark

__all__ = ["paimark"]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo"
    build_demo(path, lambda line: None)
    return path


@pytest.fixture
def demo(template: Path, tmp_path: Path) -> Path:
    """A demo of the test's own."""
    return Path(shutil.copytree(template, tmp_path / "demo"))
