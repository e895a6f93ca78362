"""Fixtures of the command, and a demo warehouse."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import paimark

__all__ = ["paimark"]


@pytest.fixture
def demo(demo_template: Path, tmp_path: Path) -> Path:
    """A demo of the test's own."""
    return Path(shutil.copytree(demo_template, tmp_path / "demo"))
