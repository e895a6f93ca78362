"""Chain tables, with the branches that Paimon makes of a table without rows."""

from __future__ import annotations

import shutil
from pathlib import Path

OPTIONS = {
    "bucket": "1",
    "sequence.field": "v",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
}
CHAIN = {
    "chain-table.enabled": "true",
    "scan.fallback-snapshot-branch": "full",
    "scan.fallback-delta-branch": "delta",
}


def make_branches(table: Path) -> None:
    for branch in ("full", "delta"):
        shutil.copytree(table / "schema", table / "branch" / f"branch-{branch}" / "schema")
