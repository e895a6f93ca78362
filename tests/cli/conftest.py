"""The command, as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Paimark


@pytest.fixture
def paimark(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Paimark:
    monkeypatch.delenv("PAIMARK_WAREHOUSE", raising=False)
    monkeypatch.delenv("PAIMARK_READ_ONLY", raising=False)
    monkeypatch.delenv("PAIMARK_DEBUG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Paimark(capsys)
