"""Fixtures of the command."""

from __future__ import annotations

from tests.cli.conftest import paimark

__all__ = ["paimark"]
