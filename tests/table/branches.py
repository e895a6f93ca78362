"""Branches as pypaimon makes them."""

from __future__ import annotations

from pathlib import Path

from tests.paimon import open_table


def create_branch(warehouse: Path, table: str, name: str, tag: str | None = None) -> None:
    """From a tag, or with schemas alone."""
    open_table(warehouse, table).branch_manager().create_branch(name, tag)
